package proxy

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// single sends a request once. net/http sends GET, HEAD, OPTIONS and requests with
// an idempotency key again by itself when a connection that it kept alive dies
// without an answer. Under an upstream that resets connections those are retries
// that no quota pays for: half as many again of the load was measured. Here a
// connection that dies is a failed attempt, for the engine to decide about.
//
// The one exception is what net/http means to mend: a connection that the upstream
// has closed because it was idle for long. A request that met one is sent again at
// once, and only once.
type single struct{ base http.RoundTripper }

// stale is how long a connection has been idle if the upstream may have closed it
// for that.
const stale = time.Second

// use is how a request met its connection.
type use struct {
	reused   bool
	idle     time.Duration
	answered atomic.Bool // by as much as a byte
}

func (s single) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "http" {
		return s.base.RoundTrip(req) // HTTP/2 says which requests it has not begun
	}
	for again := false; ; again = true {
		var u use
		trace := &httptrace.ClientTrace{
			GotConn:              func(i httptrace.GotConnInfo) { u.reused, u.idle = i.Reused, i.IdleTime },
			GotFirstResponseByte: func() { u.answered.Store(true) },
		}
		out := req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
		switch {
		case resends(req) && (req.Body == nil || req.Body == http.NoBody):
			if looked(req.Method) {
				out.Body = emptyBody{}
			}
		case resends(req):
			out.GetBody = nil
		}
		resp, err := s.base.RoundTrip(out)
		if err == nil || !u.reused || u.answered.Load() || req.Context().Err() != nil {
			return resp, err
		}
		if again || u.idle < stale || !idempotent(req) || !rewind(&req) {
			return nil, &lostError{err}
		}
	}
}

// resends reports whether net/http takes a request for one that it may repeat.
func resends(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return hasKey(req)
}

// idempotent reports whether a request may arrive twice.
func idempotent(req *http.Request) bool {
	return resends(req) || req.Method == http.MethodPut || req.Method == http.MethodDelete
}

func hasKey(req *http.Request) bool {
	_, key := req.Header["Idempotency-Key"]
	_, xkey := req.Header["X-Idempotency-Key"]
	return key || xkey
}

// looked reports whether net/http looks into a body of unknown length before it
// announces one: with these an empty one changes nothing of what is sent.
func looked(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodDelete:
		return true
	}
	return false
}

// rewind gives the request its body again.
func rewind(req **http.Request) bool {
	r := *req
	if r.Body == nil || r.Body == http.NoBody {
		return true
	}
	if r.GetBody == nil {
		return false
	}
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	*req = r.WithContext(r.Context())
	(*req).Body = body
	return true
}

// emptyBody is a body of nothing, which net/http does not know for one.
type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }
func (emptyBody) Close() error             { return nil }

// lostError is a connection that was kept alive and died without an answer: a
// transient failure, whatever net/http's word for it is (R3.2, R3.5).
type lostError struct{ err error }

func (e *lostError) Error() string {
	return "the connection, kept alive, died without an answer: " + e.err.Error()
}
func (e *lostError) Unwrap() error        { return e.err }
func (e *lostError) RetryableError() bool { return true }
