package httpretry_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// faulty is a server that fails at random, in every way that a connection can,
// and counts how often each request has arrived: an arrival is a head that could
// be read.
type faulty struct {
	listener net.Listener
	mu       sync.Mutex
	rng      *rand.Rand
	arrivals map[string]int // by request id
	open     sync.WaitGroup
}

func (f *faulty) draw(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(n)
}

func (f *faulty) serve() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.open.Add(1)
		go f.speak(c.(*net.TCPConn))
	}
}

func (f *faulty) speak(c *net.TCPConn) {
	defer f.open.Done()
	defer c.Close()
	if f.draw(20) == 0 {
		_ = c.SetLinger(0) // a reset before anything was read
		return
	}
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		id := req.Header.Get("Id")
		f.mu.Lock()
		f.arrivals[id]++
		f.mu.Unlock()
		switch f.draw(12) {
		case 0: // reset, the body unread
			_ = c.SetLinger(0)
			return
		case 1: // the end, with the body read
			_, _ = io.Copy(io.Discard, req.Body)
			return
		case 2: // half a head
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-")
			return
		case 3: // an early answer, and the end
			_, _ = io.WriteString(c, "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy")
			return
		case 4: // half a body
			_, _ = io.Copy(io.Discard, req.Body)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
			return
		case 5: // no answer, until the client is gone
			_, _ = io.Copy(io.Discard, r)
			return
		case 6, 7:
			_, _ = io.Copy(io.Discard, req.Body)
			if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\n\r\n"+wire503); err != nil {
				return
			}
		case 8: // idle and dead: the connection ends after the answer, unannounced
			_, _ = io.Copy(io.Discard, req.Body)
			_, _ = io.WriteString(c, wire200)
			return
		default:
			_, _ = io.Copy(io.Discard, req.Body)
			if _, err := io.WriteString(c, wire200); err != nil {
				return
			}
		}
	}
}

// Nothing that is not idempotent arrives twice, ever: not by a retry, a hedge, a
// time-out, a layer above, or net/http's own second try; whatever fails, and with
// every mix of options. What is idempotent arrives no more often than it has
// attempts, each of which net/http may mend once.
func TestNothingArrivesTwice(t *testing.T) {
	calls := 3000
	if testing.Short() {
		calls = 600
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &faulty{listener: listener, rng: rand.New(rand.NewPCG(5, 7)), arrivals: make(map[string]int)}
	go f.serve()

	inner := &http.Transport{MaxIdleConnsPerHost: 4, ExpectContinueTimeout: ms}
	e := newEngine(t, engine.WithClock(noSleep{}), engine.WithQuota(engine.Quota{Capacity: 1 << 30}), engine.WithMaxAttempts(4))
	var transports []http.RoundTripper
	for mix := range 16 {
		opts := []httpretry.Option{httpretry.WithBase(inner), httpretry.WithAttemptTimeout(20*ms, 200*ms)}
		for i, opt := range []httpretry.Option{httpretry.WithHedge(2 * ms), httpretry.WithRetryMark(), httpretry.WithAWSHeaders()} {
			if mix&(1<<i) != 0 {
				opts = append(opts, opt)
			}
		}
		transports = append(transports, newTransport(t, e, opts...))
		if mix&8 != 0 { // a layer above
			transports[mix] = newTransport(t, e, httpretry.WithBase(logging(transports[mix])), httpretry.WithRetryMark())
		}
	}

	var succeeded, failed atomic.Int32
	send := func(n int, rng *rand.Rand) {
		method := []string{"GET", "PUT", "POST", "POST", "PATCH", "POST"}[rng.IntN(6)]
		size := []int{10, 1000, 70_000}[rng.IntN(3)]
		var body io.Reader
		switch text := strings.Repeat("x", size); rng.IntN(4) {
		case 0:
			body = strings.NewReader(text)
		case 1:
			body = opaque(text)
		case 2:
			in, out := io.Pipe()
			go func() {
				_, _ = io.WriteString(out, text[:5])
				_, _ = io.WriteString(out, text[5:])
				_ = out.Close()
			}()
			defer in.Close()
			body = in
		}
		if method == "GET" {
			body = nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rng.IntN(500))*ms)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, method, "http://"+listener.Addr().String(), body)
		if !assert.NoError(t, err) {
			return
		}
		req.Header.Set("Id", fmt.Sprint(method, n))
		if rng.IntN(8) == 0 {
			req.Header.Set("Expect", "100-continue")
		}
		resp, err := transports[rng.IntN(len(transports))].RoundTrip(req)
		if err != nil {
			failed.Inc()
			return
		}
		succeeded.Inc()
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	var wg sync.WaitGroup
	const workers = 8
	for worker := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(worker), 3))
			for n := worker; n < calls; n += workers {
				send(n, rng)
			}
		})
	}
	wg.Wait()
	inner.CloseIdleConnections()
	require.NoError(t, listener.Close())
	f.open.Wait()

	most := 0
	for id, n := range f.arrivals {
		most = max(most, n)
		if strings.HasPrefix(id, "PO") || strings.HasPrefix(id, "PA") {
			assert.Equal(t, 1, n, "%s arrived %d times", id, n)
		} else {
			assert.LessOrEqual(t, n, 2*4, id)
		}
	}
	assert.Greater(t, most, 1, "the faults did their work")
	assert.NotZero(t, e.Stats().Hedges)
	assert.NotZero(t, e.Stats().Stops[engine.ReasonNotReplayable])
	assert.NotZero(t, succeeded.Load())
	assert.NotZero(t, failed.Load())
}
