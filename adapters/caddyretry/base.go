package caddyretry

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"

	"github.com/reprise-go/reprise/adapters/httpretry"
)

// newBase returns what sends an attempt: Caddy's transport, whose failed dials say
// why, and which sends nothing again by itself where that can be had.
func (t *Transport) newBase() http.RoundTripper {
	rt := t.Transport
	rt.DialContext = telling(rt.DialContext)
	rt.DialTLSContext = telling(rt.DialTLSContext)
	only := func(version string) bool { return len(t.Versions) == 1 && t.Versions[0] == version }
	switch {
	case only("3"):
		return &t.HTTPTransport // net/http's is not used
	case only("1.1"):
		rt.Protocols = new(http.Protocols) // the same as before, but said
		rt.Protocols.SetHTTP1(true)
	case slices.Contains(t.Versions, "h2c"):
		return rt // HTTP/2 alone
	}
	return httpretry.NoResend(rt)
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// telling makes a dial's error tell its cause. Caddy's DialError, by which its
// load balancing knows that nothing was sent, hides that.
func telling(dial dialFunc) dialFunc {
	if dial == nil {
		return nil
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d dialing
		conn, err := dial(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{DNSDone: d.resolved, ConnectDone: d.connected}), network, addr)
		if failed, ok := err.(reverseproxy.DialError); ok {
			err = &dialError{failed, d.cause(ctx)}
		}
		return conn, err
	}
}

// dialing is what is heard of a dial. Addresses may be tried side by side, and one
// may be tried still when the dial is over.
type dialing struct {
	mu        sync.Mutex // held for moments
	err       error      // the first
	succeeded bool
}

func (d *dialing) resolved(info httptrace.DNSDoneInfo) { d.heard(info.Err, false) }

func (d *dialing) connected(_, _ string, err error) { d.heard(err, err == nil) }

func (d *dialing) heard(err error, succeeded bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
	}
	d.succeeded = d.succeeded || succeeded
}

// cause says why the dial failed; nil if that was not heard.
func (d *dialing) cause(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.succeeded: // and then the line of the PROXY protocol could not be sent
		return &net.OpError{Op: "dial", Err: net.ErrClosed}
	case d.err != nil:
		return d.err
	}
	return context.Cause(ctx)
}

// dialError is a failed dial: to Caddy a DialError, to the engine its cause.
type dialError struct {
	reverseproxy.DialError
	cause error
}

// Unwrap returns the cause.
func (e *dialError) Unwrap() error { return e.cause }

// As is where Caddy finds its own: beside the cause and not above it, since of two
// errors joined only what both say of a request that was not sent would count.
func (e *dialError) As(target any) bool {
	to, ok := target.(*reverseproxy.DialError)
	if ok {
		*to = e.DialError
	}
	return ok
}
