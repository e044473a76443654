package httpretry

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/reprise-go/reprise/engine"
)

// HostKey returns the upstream that a request goes to, as host:port. It is the
// key that [WithEngineByHost] takes.
//
// The host is that of the URL, not of the Host header: in lower case and without
// dots at the end, or an IP address in its canonical form, an IPv6 one in brackets
// unless it is a mapped IPv4 one. A URL without a port has 80 if its scheme is http
// or missing, 443 if it is https, and "" else. A request without a URL has the key
// ":". Hosts of more than 300 bytes, which no name or address has, share the key
// "too-long.invalid:1", so that whoever may choose the host cannot make a group
// keep much.
//
// Wait-free; allocates only where the URL spells the key in another way.
func HostKey(req *http.Request) string {
	if req == nil || req.URL == nil {
		return ":"
	}
	host := req.URL.Host
	if len(host) > maxHostBytes {
		return longHostKey
	}
	if plainHost(host) {
		return host
	}
	if key := normalHost(req.URL.Scheme, host); len(key) <= maxHostBytes {
		return key
	}
	return longHostKey
}

const (
	// maxHostBytes is more than a name of 253 bytes with a dot and a port, or an
	// IPv6 address with a zone, can have.
	maxHostBytes = 300
	longHostKey  = "too-long.invalid:1"
)

// plainHost reports whether host is its own key: a name in lower case or an IPv4
// address, and a port.
func plainHost(host string) bool {
	colon := -1
	for i := range len(host) {
		switch c := host[i]; {
		case c == ':':
			if colon >= 0 {
				return false
			}
			colon = i
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
		default:
			return false
		}
	}
	return colon > 0 && host[colon-1] != '.' && plainPort(host[colon+1:])
}

// plainPort reports whether a port is there and is spelled as numbers are.
func plainPort(port string) bool {
	return port != "" && port[0] != '0' && strings.Trim(port, "0123456789") == ""
}

func normalHost(scheme, host string) string {
	name, port := host, ""
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		name, port = host[:colon], host[colon+1:]
	}
	if port = strings.TrimLeft(port, "0"); port == "" {
		switch strings.ToLower(scheme) {
		case "http", "":
			port = "80"
		case "https":
			port = "443"
		}
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		inner = strings.TrimSuffix(inner, "]")
		if ip, err := netip.ParseAddr(inner); err == nil && ip.Is4In6() {
			return ip.Unmap().String() + ":" + port
		} else if err == nil {
			inner = ip.String() // the zone keeps its case
		} else {
			inner = strings.ToLower(inner)
		}
		return "[" + inner + "]:" + port
	}
	return strings.TrimRight(strings.ToLower(name), ".") + ":" + port
}

// WithEngineFor chooses the engine of each call: its quota pays, its classifier
// says what a failure is, its attempts and schedule hold. Where choose returns
// nil it is the one that [New] was given. choose is called once for each request,
// which it must not change, by many goroutines; an engine that [engine.New] or a
// group did not make panics there. Default: every call has New's engine.
func WithEngineFor(choose func(*http.Request) *engine.Engine) Option {
	return func(c *config) error {
		if choose == nil {
			return errors.New("reprise/httpretry: WithEngineFor(nil): want a func; leave the option out for the engine given to New")
		}
		c.engineFor = choose
		return nil
	}
}

// WithEngineByHost is [WithEngineFor] with an engine for each upstream: that of
// the request's [HostKey] in the group. The group bounds how many there are, and
// says what becomes of those that have none. The engine that [New] was given is
// then not used. Default: every call has New's engine.
func WithEngineByHost(group *engine.Group[string]) Option {
	return func(c *config) error {
		if group == nil {
			return errors.New("reprise/httpretry: WithEngineByHost(nil): want a group (engine.NewGroup makes one); leave the option out for the engine given to New")
		}
		c.engineFor = func(req *http.Request) *engine.Engine { return group.For(HostKey(req)) }
		return nil
	}
}

// engineOf returns the engine of a call where one is chosen.
func (t *Transport) engineOf(req *http.Request) *engine.Engine {
	if e := t.engineFor(req); e != nil {
		return e
	}
	return t.engine
}
