package httpretry

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/classify"
)

// NoResend returns a base for [WithBase] that keeps net/http from sending requests
// again behind the engine's back. base is an [http.Transport], or something around
// one. Over HTTP/1 that sends GET, HEAD, OPTIONS, TRACE and requests with an
// idempotency key again, unasked and as often as it takes, when a connection out of
// its pool dies without an answer; and in the pool are connections too that were
// dialled in a crowd and have carried nothing yet. A server that fails by hanging up
// then sees requests that no quota pays for. With NoResend a dead connection is a
// failed attempt (R3.2).
//
// One exception mends what net/http means to mend: a request that may be sent twice,
// and whose connection had been idle for a second or more before it died, is sent
// again at once, and only once; that is no attempt.
//
// It is for http URLs, and for https where base is an *http.Transport whose Protocols
// exclude HTTP/2. Others pass untouched, and net/http goes on to send again what the
// server says that it has not processed. What remains over HTTP/1, without a body,
// are TRACE, requests with a key of other methods than GET, HEAD, OPTIONS, DELETE,
// PROPFIND and SEARCH, and those whose TransferEncoding is set beside http.NoBody:
// how they are sent would have to change.
//
// Each request costs six allocations more, and a GET some ten within net/http too,
// which is why it is no default. An answer comes back with the request that was
// given. It panics if base is nil or a [*Transport]; base's Protocols must not change
// later.
func NoResend(base http.RoundTripper) http.RoundTripper {
	switch base := base.(type) {
	case nil:
		panic("reprise/httpretry: NoResend(nil): want the RoundTripper that sends, such as http.DefaultTransport")
	case *Transport:
		panic("reprise/httpretry: NoResend is given a *httpretry.Transport: want the transport beneath it")
	case *http.Transport:
		if p := base.Protocols; p != nil {
			return &noResend{base: base, http: p.HTTP1() || !p.UnencryptedHTTP2(), https: !p.HTTP2()}
		}
	}
	return &noResend{base: base, http: true}
}

type noResend struct {
	base        http.RoundTripper
	http, https bool // what has the scheme goes over HTTP/1
}

// staleAfter is how long a connection has been idle if the server may have closed it
// for that.
const staleAfter = time.Second

// connUse is how an attempt has met its connection.
type connUse struct {
	reused   bool
	idle     time.Duration
	answered atomic.Bool // by as much as a byte
}

func (u *connUse) got(info httptrace.GotConnInfo) { u.reused, u.idle = info.Reused, info.IdleTime }
func (u *connUse) byteCame()                      { u.answered.Store(true) }

// RoundTrip sends once, or twice.
func (s *noResend) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || !(s.http && req.URL.Scheme == "http" || s.https && req.URL.Scheme == "https") {
		return s.base.RoundTrip(req)
	}
	u := new(connUse)
	resp, err := s.send(req, req, u)
	if err == nil || !u.reused || u.idle < staleAfter || u.answered.Load() || req.Context().Err() != nil ||
		!idempotent(req) || !died(err) {
		return resp, err
	}
	again, ok := rewound(req)
	if !ok {
		return resp, err
	}
	return s.send(req, again, new(connUse))
}

// send sends req, which is the caller's or the caller's once more.
func (s *noResend) send(callers, req *http.Request, u *connUse) (*http.Response, error) {
	trace := &httptrace.ClientTrace{GotConn: u.got, GotFirstResponseByte: u.byteCame}
	out := req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
	// net/http sends again what has no body, or a GetBody, which what has none may have
	// too: http.NewRequest gives it to an empty reader.
	if mended(req) {
		if hasBody(req) {
			out.GetBody = nil
		} else if emptied(req) {
			out.Body, out.GetBody, out.ContentLength, out.TransferEncoding = emptyBody{}, nil, 0, nil
		}
	}
	resp, err := s.base.RoundTrip(out)
	if resp != nil && resp.Request == out {
		resp.Request = callers
	}
	return resp, err
}

// CloseIdleConnections closes those of the base.
func (s *noResend) CloseIdleConnections() {
	if base, ok := s.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// mended reports whether net/http takes a request for one that it may send again
// after something of it was written: by our own list, less two methods.
func mended(req *http.Request) bool {
	switch req.Method {
	case http.MethodPut, http.MethodDelete:
		return hasKey(req)
	}
	return idempotent(req)
}

// emptied reports whether an empty body changes nothing of how a request without one
// is sent: net/http looks into a body of unknown length before it announces one. It
// refuses a length without a body, and heeds an encoding of NoBody.
func emptied(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodDelete, "PROPFIND", "SEARCH":
		if req.Body == nil {
			return req.ContentLength == 0
		}
		return len(req.TransferEncoding) == 0
	}
	return false
}

// emptyBody is a body of nothing that net/http does not know for one.
type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }
func (emptyBody) Close() error             { return nil }

// died reports whether an attempt's error is that of a connection that has ended.
func died(err error) bool {
	switch failureOf(classify.Default, err).Rule {
	case classify.RuleEOF, classify.RuleClosed, classify.RuleReset:
		return true
	}
	return false
}

// rewound returns the request with its body as it was before it was sent.
func rewound(req *http.Request) (*http.Request, bool) {
	if !hasBody(req) {
		return req, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := reopened(req)
	if err != nil {
		return nil, false
	}
	again := *req
	again.Body = body
	return &again, true
}
