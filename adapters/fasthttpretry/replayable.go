package fasthttpretry

import (
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"
)

// unreplayable says why the request cannot be sent again, or nil. neverSent says
// that the failure proves that the server saw nothing of it.
func (x *exchange) unreplayable(neverSent bool) error {
	switch {
	case x.streamed && !(neverSent && x.req.IsBodyStream()):
		return errStreamed
	case !neverSent && !x.c.anyMethod && !idempotent(&x.req.Header):
		return &methodError{string(x.req.Header.Method())}
	}
	return nil
}

// idempotent reports whether a request may be sent twice: by its method, or
// because it says so with an idempotency key.
func idempotent(h *fasthttp.RequestHeader) bool {
	switch string(h.Method()) {
	case fasthttp.MethodGet, fasthttp.MethodHead, fasthttp.MethodOptions, fasthttp.MethodTrace,
		fasthttp.MethodPut, fasthttp.MethodDelete:
		return true
	}
	return field(h, "Idempotency-Key") != "" || field(h, "X-Idempotency-Key") != ""
}

// notReplayableError is the failure of an attempt and the reason why it was the
// last.
type notReplayableError struct {
	err error // of the attempt
	why error
}

func (e *notReplayableError) Error() string   { return fmt.Sprintf("%v (%v)", e.err, e.why) }
func (e *notReplayableError) Unwrap() []error { return []error{e.err, e.why} }

var errStreamed = errors.New("reprise/fasthttpretry: the request's body is a stream, which can be read only once (SetBody keeps it)")

type methodError struct{ method string }

func (e *methodError) Error() string {
	return fmt.Sprintf("reprise/fasthttpretry: %s is not idempotent, and the request has no Idempotency-Key header", e.method)
}
