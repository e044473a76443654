package fasthttpretry_test

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/engine"
)

// A client that sends again by itself is refused, with what is wrong and what
// would be right.
func TestNewRefuses(t *testing.T) {
	e := newEngine(t)
	fine := &fasthttp.HostClient{MaxIdemponentCallAttempts: 1}
	for _, row := range []struct {
		name    string
		engine  *engine.Engine
		beneath fasthttpretry.Doer
		option  fasthttpretry.Option
		want    string
	}{
		{"no engine", nil, fine, nil, "New needs an engine; this one is nil"},
		{"the zero engine", new(engine.Engine), fine, nil, "this one is the zero Engine"},
		{"no client", e, nil, nil, "New needs a client"},
		{"a nil client", e, (*fasthttp.Client)(nil), nil, "this *fasthttp.Client is nil"},
		{"a nil host client", e, (*fasthttp.HostClient)(nil), nil, "is nil"},
		{"a nil pipeline", e, (*fasthttp.PipelineClient)(nil), nil, "is nil"},
		{"a nil balancer", e, (*fasthttp.LBClient)(nil), nil, "is nil"},
		{"fasthttp's default", e, &fasthttp.Client{}, nil, "a *fasthttp.Client whose MaxIdemponentCallAttempts is 0, which means 5"},
		{"twice", e, &fasthttp.HostClient{MaxIdemponentCallAttempts: 2}, nil, "a *fasthttp.HostClient whose MaxIdemponentCallAttempts is 2: it would send again by itself"},
		{"one of a balancer's", e, &fasthttp.LBClient{Clients: []fasthttp.BalancingClient{fine, new(fasthttp.HostClient)}}, nil, "client 2 of 2 of the *fasthttp.LBClient"},
		{"an empty balancer", e, &fasthttp.LBClient{}, nil, "without Clients"},
		{"ours in ours", e, newClient(t, e, fine), nil, "retries under retries multiply"},
		{"ours in a balancer in ours", e, &fasthttp.LBClient{Clients: []fasthttp.BalancingClient{newClient(t, e, fine)}}, nil, "retries under retries multiply"},
		{"a nil option", e, fine, nil, ""},
		{"no attempt time-out", e, fine, fasthttpretry.WithAttemptTimeout(0), "WithAttemptTimeout(0s): want a duration above zero"},
		{"no function", e, fine, fasthttpretry.WithEngineFor(nil), "WithEngineFor(nil)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			opts := []fasthttpretry.Option{fasthttpretry.WithAnyMethod(), row.option}
			if row.option == nil && row.want != "" {
				opts = nil
			}
			c, err := fasthttpretry.New(row.engine, row.beneath, opts...)
			assert.Nil(t, c)
			require.Error(t, err)
			assert.Contains(t, err.Error(), "reprise/fasthttpretry: ")
			assert.Contains(t, err.Error(), row.want)
		})
	}
}

func TestZeroClient(t *testing.T) {
	req, resp := get(t, "http://service.test/")
	for _, c := range []*fasthttpretry.Client{nil, {}} {
		assert.ErrorContains(t, c.Do(req, resp), "make one with New")
		assert.Zero(t, c.PendingRequests())
		c.CloseIdleConnections()
	}
}

// Peer faults 118 and 121: nothing is sent again beneath the engine. The server
// takes each request and hangs up, on fresh connections and on kept ones, where
// fasthttp by itself would send five times.
func TestNothingIsSentBeneath(t *testing.T) {
	hangsUpOn := func(second bool) *wire {
		return serveWire(t, func(n int, conn net.Conn, _ *http.Request) bool {
			return second && n == 1 && say(200, "hello")(conn)
		})
	}
	t.Run("as fasthttp has it", func(t *testing.T) { // or the rest would prove nothing
		w := hangsUpOn(false)
		req, resp := get(t, w.url)
		require.ErrorIs(t, new(fasthttp.Client).Do(req, resp), fasthttp.ErrConnectionClosed)
		assert.Equal(t, 5, w.count())
	})
	beneath := map[string]func(addr string) fasthttpretry.Doer{
		"Client": func(string) fasthttpretry.Doer { return once(t) },
		"Client with retry functions": func(string) fasthttpretry.Doer {
			c := once(t)
			c.RetryIfErr = func(*fasthttp.Request, int, error) (bool, bool) { return true, true }
			return c
		},
		"HostClient": func(addr string) fasthttpretry.Doer {
			return &fasthttp.HostClient{Addr: addr, MaxIdemponentCallAttempts: 1}
		},
		"LBClient": func(addr string) fasthttpretry.Doer {
			return &fasthttp.LBClient{Timeout: time.Minute, Clients: []fasthttp.BalancingClient{&fasthttp.HostClient{Addr: addr, MaxIdemponentCallAttempts: 1}}}
		},
		"PipelineClient": func(addr string) fasthttpretry.Doer {
			return &fasthttp.PipelineClient{Addr: addr, Logger: quiet{}}
		},
	}
	for name, client := range beneath {
		arrived := func(t *testing.T, w *wire, attempts int) {
			if name == "PipelineClient" { // it may write to a connection that has just ended
				assert.LessOrEqual(t, w.count(), attempts)
			} else {
				assert.Equal(t, attempts, w.count())
			}
		}
		t.Run(name, func(t *testing.T) {
			w := hangsUpOn(false)
			e := quick(t)
			req, resp := get(t, w.url)
			err := newClient(t, e, client(w.addr)).Do(req, resp)
			require.ErrorIs(t, err, engine.ErrMaxAttempts)
			arrived(t, w, 3)
			assert.Equal(t, 500-2*14, level(e))
		})
		t.Run(name+", POST", func(t *testing.T) {
			w := hangsUpOn(false)
			req, resp := request(t, "POST", w.url)
			require.ErrorIs(t, newClient(t, quick(t), client(w.addr)).Do(req, resp), engine.ErrNotReplayable)
			arrived(t, w, 1)
		})
		t.Run(name+", a kept connection", func(t *testing.T) {
			w := hangsUpOn(true)
			e := quick(t)
			c := newClient(t, e, client(w.addr))
			req, resp := get(t, w.url)
			require.NoError(t, c.Do(req, resp))
			require.ErrorIs(t, c.Do(req, resp), engine.ErrMaxAttempts)
			arrived(t, w, 1+3)
		})
	}
}

// quiet is a logger.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// A balancer chooses for each attempt: a retry goes to another upstream. And it
// balances over Clients that have an engine each.
func TestBalancer(t *testing.T) {
	bad := serveWire(t, func(int, net.Conn, *http.Request) bool { return false })
	good := serveWire(t, func(_ int, conn net.Conn, _ *http.Request) bool { return say(200, "hello")(conn) })
	host := func(w *wire) *fasthttp.HostClient {
		return &fasthttp.HostClient{Addr: w.addr, MaxIdemponentCallAttempts: 1}
	}
	lb := &fasthttp.LBClient{Timeout: time.Minute, Clients: []fasthttp.BalancingClient{host(bad), host(good)}}
	req, resp := get(t, "http://service.test/")
	r, err := newClient(t, quick(t), lb).DoContext(t.Context(), req, resp)
	require.NoError(t, err)
	assert.Equal(t, fasthttpretry.Result{Attempts: 2, Succeeded: true}, r)
	assert.Equal(t, 1, bad.count())

	engines := []*engine.Engine{quick(t), quick(t)}
	lb = &fasthttp.LBClient{Timeout: time.Minute, Clients: []fasthttp.BalancingClient{newClient(t, engines[0], host(bad)), newClient(t, engines[1], host(good))}}
	require.ErrorIs(t, lb.Do(req, resp), engine.ErrMaxAttempts)
	require.NoError(t, lb.Do(req, resp))
	assert.Equal(t, 500-2*14, level(engines[0]))
	assert.Equal(t, 500, level(engines[1]))
}
