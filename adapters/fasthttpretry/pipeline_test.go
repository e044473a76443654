package fasthttpretry_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// fasthttp's PipelineClient takes the body of a request that has a deadline, and
// may send it when the caller has long gone on. What it takes is given back for
// the next attempt, and nothing that it may still read is written to: the race
// detector watches.
func TestPipelineKeepsTheBody(t *testing.T) {
	for name, set := range map[string]func(req *fasthttp.Request, text string){
		"SetBody":    func(req *fasthttp.Request, text string) { req.SetBodyString(text) },
		"SetBodyRaw": func(req *fasthttp.Request, text string) { req.SetBodyRaw([]byte(text)) },
	} {
		t.Run(name, func(t *testing.T) {
			timedOut := make(chan struct{}, 1000)
			var mu sync.Mutex
			bodies := make(map[string]int)
			w := serveWire(t, func(n int, conn net.Conn, req *http.Request) bool {
				body, _ := io.ReadAll(req.Body)
				mu.Lock()
				bodies[string(body)]++
				mu.Unlock()
				if n%3 == 1 { // a server that is slow, and answers all the same
					<-timedOut
				}
				return say(200, string(body))(conn)
			})
			beneath := &fasthttp.PipelineClient{Addr: w.addr, Logger: quiet{}}
			c := newClient(t, quick(t, engine.WithMaxAttempts(50), tells(timedOut), engine.WithQuota(engine.Quota{Capacity: 1 << 20})), beneath, fasthttpretry.WithAttemptTimeout(15*ms))
			req, resp := request(t, "PUT", w.url)
			for i := range 8 {
				text := strings.Repeat(string(rune('a'+i)), 1000)
				req.Reset()
				req.Header.SetMethod("PUT")
				req.SetRequestURI(w.url)
				set(req, text)
				require.NoError(t, c.Do(req, resp))
				require.Equal(t, text, string(resp.Body()))
				require.Equal(t, text, string(req.Body()))
			}
			mu.Lock()
			defer mu.Unlock()
			assert.Len(t, bodies, 8, "nothing but what was meant was sent")
		})
	}
}

// Of calls that run side by side none gets the memory of another's body: each
// request's header says what its body must be.
func TestPipelineKeepsBodiesApart(t *testing.T) {
	timedOut := make(chan struct{}, 10000)
	var mu sync.Mutex
	var wrong []string
	w := serveWire(t, func(n int, conn net.Conn, req *http.Request) bool {
		body, _ := io.ReadAll(req.Body)
		if want := strings.Repeat(req.Header.Get("X-Letter"), 1000); want != string(body) {
			mu.Lock()
			wrong = append(wrong, req.Header.Get("X-Letter")+": "+string(body[:min(len(body), 10)]))
			mu.Unlock()
		}
		switch n % 5 {
		case 1:
			<-timedOut
		case 2, 3:
			return say(503, "")(conn)
		}
		return say(200, "")(conn)
	})
	beneath := &fasthttp.PipelineClient{Addr: w.addr, Logger: quiet{}}
	c := newClient(t, quick(t, engine.WithMaxAttempts(50), tells(timedOut), engine.WithQuota(engine.Quota{Capacity: 1 << 20})), beneath, fasthttpretry.WithAttemptTimeout(15*ms))
	var calls sync.WaitGroup
	for i := range 4 {
		calls.Go(func() {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(req)
			defer fasthttp.ReleaseResponse(resp)
			for n := range 10 {
				letter := string(rune('a' + 10*i%26 + n))
				req.Reset()
				req.Header.SetMethod("PUT")
				req.SetRequestURI(w.url)
				req.Header.Set("X-Letter", letter)
				req.SetBodyString(strings.Repeat(letter, 1000))
				assert.NoError(t, c.Do(req, resp))
			}
		})
	}
	calls.Wait()
	mu.Lock()
	defer mu.Unlock()
	assert.Empty(t, wrong)
}

// tells says of each retry that the attempt before it is over.
func tells(over chan<- struct{}) engine.Option {
	return engine.WithObserver(engine.Observer{Retry: func(engine.RetryEvent) { over <- struct{}{} }})
}

// Requests behind one on whose answer the connection ends fail with an error that
// fasthttp does not export: it is known by its words, so a version that changes
// them must show here.
func TestPipelineStopped(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	var server sync.WaitGroup
	server.Go(func() { // takes two requests, then hangs up
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		for range 2 {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
		}
	})
	beneath := &fasthttp.PipelineClient{Addr: ln.Addr().String(), Logger: quiet{}}
	var ev events
	c := newClient(t, quick(t, engine.WithMaxAttempts(1), ev.observer()), beneath)
	var calls sync.WaitGroup
	texts := make([]string, 2)
	for i := range texts {
		calls.Go(func() {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(req)
			defer fasthttp.ReleaseResponse(resp)
			req.SetRequestURI("http://service.test/")
			texts[i] = c.Do(req, resp).Error()
		})
	}
	calls.Wait()
	server.Wait()
	assert.Contains(t, strings.Join(texts, "\n"), "pipeline connection has been stopped")
	require.Len(t, ev.stops, 2)
	for _, stop := range ev.stops {
		assert.Equal(t, classify.Transient, stop.Class)
		assert.Equal(t, engine.ReasonMaxAttempts, stop.Reason)
	}
}

// Without a deadline a pipeline waits for a server that nobody can reach for as
// long as it takes, and says nothing; a bound for each attempt makes it a failure.
func TestPipelineNeedsABound(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	beneath := &fasthttp.PipelineClient{Addr: ln.Addr().String(), Logger: quiet{}}
	req, resp := get(t, "http://service.test/")
	r, err := newClient(t, quick(t), beneath, fasthttpretry.WithAttemptTimeout(10*ms)).DoContext(t.Context(), req, resp)
	require.ErrorIs(t, err, fasthttp.ErrTimeout)
	assert.Equal(t, 3, r.Attempts)
	assert.Equal(t, classify.Transient, r.Class)
}
