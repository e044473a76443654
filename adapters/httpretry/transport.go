package httpretry

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/reprise-go/reprise/engine"
)

// Transport sends requests through another RoundTripper, and again where the
// engine says so. It is safe for use by many goroutines and immutable; make one
// with [New] for each client and keep it. The zero Transport fails every
// request with an error that says so.
type Transport struct {
	engine *engine.Engine
	config
}

// New returns a Transport whose calls are e's: it pays from e's quota and
// classifies with e's classifier. A nil or zero engine and an option that is
// wrong are errors.
func New(e *engine.Engine, opts ...Option) (*Transport, error) {
	if e == nil {
		return nil, errors.New("reprise/httpretry: New needs an engine; this one is nil (engine.New makes one)")
	}
	if _, err := e.Derive(); err != nil {
		return nil, errors.New("reprise/httpretry: New needs an engine made by engine.New; this one is the zero Engine")
	}
	t := &Transport{engine: e, config: config{base: http.DefaultTransport, bodyLimit: defaultBodyLimit}}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("reprise/httpretry: option %d of %d is nil", i+1, len(opts))
		}
		if err := opt(&t.config); err != nil {
			return nil, err
		}
	}
	t.ownRequests = t.awsHeaders || t.retryMark || len(t.attemptTimeouts) > 0
	return t, nil
}

// Client returns an http.Client whose transport is New's. It panics where New
// has an error.
func Client(e *engine.Engine, opts ...Option) *http.Client {
	t, err := New(e, opts...)
	if err != nil {
		panic(err.Error())
	}
	return &http.Client{Transport: t}
}

// CloseIdleConnections closes the idle connections of the transport beneath, if
// that can.
func (t *Transport) CloseIdleConnections() {
	if t == nil {
		return
	}
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// RoundTrip sends req and, as long as the engine says so, sends it again. It
// returns a response whenever the last attempt got one and the caller still
// waits, whatever its status; [ResultOf] says why there was no further attempt.
// An error is the base's own, untouched, if the first attempt's was not
// retryable, else an [*engine.Error] around it.
//
// req is not modified; its body is closed, if not by the time RoundTrip returns
// then by the base when it is done with it. Blocks for the attempts and the
// delays between them, and no longer than req's context lives. A success at the
// first attempt allocates nothing beside what the base does, unless an option
// or a body without GetBody asks for a request of its own.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t == nil || t.engine == nil {
		closeBody(req)
		return nil, errZeroTransport
	}
	if req.Method == http.MethodConnect {
		return t.base.RoundTrip(req) // a tunnel, not an answer
	}
	var x exchange // field by field, which saves building it twice
	x.t, x.req, x.ctx, x.engine = t, req, req.Context(), t.engine
	if t.engineFor != nil {
		x.engine = t.engineOf(req)
	}
	x.open()
	c := x.engine.Begin()
	if x.longPoll {
		c = x.engine.BeginLongPoll()
	}
	if c.Admit() != 0 { // adaptive mode makes it wait
		if err := x.admit(&c); err != nil {
			return nil, err
		}
	}
	for {
		var resp *http.Response
		var judged *failure // the failure, where that was looked at
		var err error
		if x.hedges && c.Attempts() < x.engine.MaxAttempts() {
			resp, judged, err = x.race(&c)
		} else {
			resp, err = x.send(c.Attempts())
		}
		if err == nil && judged == nil && succeeded(x.engine, resp) {
			c.Succeed()
			if x.kept != nil || x.next != nil {
				x.close(false)
			}
			if c.Attempts() > 1 {
				attach(resp, req, Result{Attempts: c.Attempts(), Hedges: int(x.hedged), Succeeded: true})
			}
			return resp, nil
		}
		if again, resp, err := x.failed(&c, resp, err, judged); !again {
			return resp, err
		}
	}
}

var errZeroTransport = errors.New("reprise/httpretry: this *Transport is nil or zero: make one with New")

func closeBody(req *http.Request) {
	if req != nil && req.Body != nil {
		_ = req.Body.Close()
	}
}
