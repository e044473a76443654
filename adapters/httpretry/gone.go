package httpretry

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/reprise-go/reprise/classify"
)

// failureOf classifies the error of an attempt. At this boundary, and nowhere
// else, a few failures of a connection that net/http has no types for are known
// by its words (see gone).
func failureOf(c *classify.Classifier, err error) classify.Verdict {
	v := c.ExplainError(err)
	if v.Rule == classify.RuleUnrecognized && (gone(err) || unsentAgain(err)) {
		v.Class, v.Rule = classify.Transient, classify.RuleClosed
	}
	return v
}

// gone reports whether an error that a base has returned is, at its innermost,
// net/http's word for a connection that is no more (R3.2): kept alive, and closed by
// the server just when a request had been given to it; or of HTTP/2, and found dead
// by a ping; or, beneath NoResend alone, ended by net/http because the server had sent
// on it what nobody asked for. net/http made the first two by errors.New, and the last
// by fmt.Errorf of no error, and does not export them. They are compared whole, and
// have no part that a server or a caller could write (R3.8).
func gone(err error) bool {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}
	switch reflect.TypeOf(err) {
	case plainError:
		switch err.Error() {
		case "http: server closed idle connection", "http2: client connection lost":
			return true
		}
	case wrapError:
		return err.Error() == "readLoopPeekFailLocked: %!w(<nil>)"
	}
	return false
}

var (
	// plainError is the type that errors.New makes.
	plainError = reflect.TypeOf(errors.New(""))
	// wrapError is the type that fmt.Errorf makes.
	wrapError = reflect.TypeOf(fmt.Errorf("%w", io.EOF))
)
