package httpretry

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// idempotent reports whether a request may be sent twice: by its method, or
// because it says so with an idempotency key. An empty list under the header's
// name says so too, and net/http then sends no header.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace,
		http.MethodPut, http.MethodDelete:
		return true
	}
	return hasKey(req)
}

func hasKey(req *http.Request) bool {
	if _, ok := req.Header["Idempotency-Key"]; ok {
		return true
	}
	_, ok := req.Header["X-Idempotency-Key"]
	return ok
}

// notReplayableError is the failure of an attempt and the reason why it was the
// last.
type notReplayableError struct {
	err error // of the attempt
	why error
}

func (e *notReplayableError) Error() string   { return fmt.Sprintf("%v (%v)", e.err, e.why) }
func (e *notReplayableError) Unwrap() []error { return []error{e.err, e.why} }

type methodError struct{ method string }

func (e *methodError) Error() string {
	return fmt.Sprintf("reprise/httpretry: %s is not idempotent, and the request has no Idempotency-Key header", e.method)
}

// reopened returns the request's body once more, from its GetBody. A GetBody that
// has none to give would leave the one that was sent already, which is at its end.
func reopened(req *http.Request) (io.ReadCloser, error) {
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, errNilBody
	}
	return body, nil
}

var errNilBody = errors.New("it returned neither a body nor an error")

type getBodyError struct{ err error }

func (e *getBodyError) Error() string {
	return fmt.Sprintf("reprise/httpretry: the request's GetBody failed: %v", e.err)
}

func (e *getBodyError) Unwrap() error { return e.err }

type bodyTooLongError struct{ limit int }

func (e *bodyTooLongError) Error() string {
	return fmt.Sprintf("reprise/httpretry: the request body has no GetBody and is longer than the %d bytes that are kept (WithBodyLimit)", e.limit)
}

// unsentAgainError is what is left of a connection's end where net/http wanted to send
// again by itself and there was no body for that: it returns what GetBody says, and
// not how the connection ended.
type unsentAgainError struct{ why *bodyTooLongError }

func (e *unsentAgainError) Error() string {
	return "reprise/httpretry: the connection ended, or the server refused the request, before there was an answer"
}

func (e *unsentAgainError) Unwrap() error { return e.why }

func unsentAgain(err error) bool {
	var e *unsentAgainError
	return errors.As(err, &e)
}

type bodyFailedError struct{ err error }

func (e *bodyFailedError) Error() string {
	return fmt.Sprintf("reprise/httpretry: the request body could not be read: %v", e.err)
}

func (e *bodyFailedError) Unwrap() error { return e.err }
