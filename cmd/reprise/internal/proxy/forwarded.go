package proxy

import (
	"net/http/httputil"
	"net/netip"
	"strings"
)

// setForwarded tells the upstream who asked, for which host, and by what. What a
// client says of that itself is dropped, unless it is a proxy that we were told to
// trust: then its list is continued and its host and scheme stay.
func (s *Server) setForwarded(r *httputil.ProxyRequest) {
	trusted := s.trusts(r.In.RemoteAddr)
	if trusted {
		r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
	} else {
		for name := range r.Out.Header {
			if ofProxies(name) {
				delete(r.Out.Header, name)
			}
		}
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

// ofProxies reports whether a header says who asked, which is a proxy's to say. To
// servers that make variables of headers an underscore is a dash.
func ofProxies(name string) bool {
	const family = "X-Forwarded-"
	if len(name) < len("Forwarded") || name[0] != 'X' && name[0] != 'F' {
		return false
	}
	name = strings.ReplaceAll(name, "_", "-")
	return strings.EqualFold(name, "Forwarded") || strings.EqualFold(name, "X-Real-Ip") ||
		len(name) > len(family) && strings.EqualFold(name[:len(family)], family)
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
