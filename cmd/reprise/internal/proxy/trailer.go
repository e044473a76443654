package proxy

import (
	"net/http"
	"strings"
)

// dropTrailers leaves of the trailers that a client announces those that may come
// after a body: a server that puts them to the headers would take the others for
// what the proxy says or has dropped, or for how the request is to be read (RFC
// 9110, 6.5.1). What was not announced is not sent on.
func dropTrailers(trailer http.Header) {
	for name := range trailer {
		if !mayTrail(name) {
			delete(trailer, name)
		}
	}
}

func mayTrail(name string) bool {
	plain := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	switch plain {
	case "Authorization", "Cookie", "Connection", "Keep-Alive", "Te", "Upgrade", "Host", "Expect", "Range", "Cache-Control",
		"Max-Forwards", "Retry-Attempt", "Idempotency-Key", "X-Idempotency-Key":
		return false
	}
	return !ofProxies(plain) && !strings.HasPrefix(plain, "If-") && !strings.HasPrefix(plain, "Proxy-") &&
		!strings.HasPrefix(plain, "Content-")
}
