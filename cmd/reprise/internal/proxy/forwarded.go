package proxy

import (
	"net/http/httputil"
	"net/netip"
)

// setForwarded tells the upstream who asked, for which host, and by what. What a
// client says of that itself is dropped, unless it is a proxy that we were told to
// trust: then its list is continued and its host and scheme stay.
func (s *Server) setForwarded(r *httputil.ProxyRequest) {
	trusted := s.trusts(r.In.RemoteAddr)
	if trusted {
		r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
	}
	r.SetXForwarded()
	if !trusted {
		return
	}
	for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto"} {
		if said := r.In.Header[name]; len(said) > 0 {
			r.Out.Header[name] = said
		}
	}
}

func (s *Server) trusts(remote string) bool {
	if len(s.o.Trusted) == 0 {
		return false
	}
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	for _, prefix := range s.o.Trusted {
		if prefix.Contains(peer.Addr().Unmap()) {
			return true
		}
	}
	return false
}
