package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
)

// state is /-/engines, of the first upstream.
type state struct {
	Quota struct {
		Level    int `json:"level_tokens"`
		Capacity int `json:"capacity_tokens"`
	}
	Retries struct{ Transient, Throttling, Unsent, Hedges int }
	Stops   map[string]int
	Running int `json:"requests_in_flight"`
	URLs    []struct {
		URL        string
		Attempts   int
		Failed     int  `json:"failed_attempts"`
		PassedOver bool `json:"passed_over"`
	}
}

func (r *rig) state(t *testing.T) state {
	t.Helper()
	_, text := do(t, "GET", r.admin+"/-/engines", "")
	var doc struct{ Upstreams []state }
	require.NoError(t, json.Unmarshal([]byte(text), &doc))
	require.NotEmpty(t, doc.Upstreams)
	return doc.Upstreams[0]
}

// hangUp ends the connection without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

// A POST arrives once, whatever becomes of it, unless nobody can have seen it or
// the client says that it may be repeated.
func TestPOST(t *testing.T) {
	var hits atomic.Int32
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := hits.Add(1)
		switch {
		case r.URL.Path == "/reset":
			hangUp(w)
		case r.URL.Path == "/key" && n > 1:
			_, _ = w.Write(body)
		default:
			w.Header().Set("X-Own", "yes")
			w.WriteHeader(503)
			_, _ = w.Write([]byte("its own words"))
		}
	})))
	resp, text := do(t, "POST", p.url+"/503", "order")
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, "its own words", text, "the answer passes through untouched")
	assert.Equal(t, "yes", resp.Header.Get("X-Own"))
	assert.EqualValues(t, 1, hits.Swap(0))
	assert.Equal(t, "not_replayable", p.log.request(t, "/503")["reason"])

	resp, text = do(t, "POST", p.url+"/reset", "order")
	assert.Equal(t, 502, resp.StatusCode)
	assert.Equal(t, "reprise: 502: the upstream could not be asked, or did not answer\n", text)
	assert.EqualValues(t, 1, hits.Swap(0))

	resp, text = do(t, "POST", p.url+"/key", "order", "Idempotency-Key: 7")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, "order", text, "the second attempt has the whole body")
	assert.EqualValues(t, 2, hits.Swap(0))

	nobody := start(t, one(t, unused(t)))
	resp, _ = do(t, "POST", nobody.url+"/nobody", "order")
	assert.Equal(t, 502, resp.StatusCode)
	assert.EqualValues(t, 3, nobody.log.request(t, "/nobody")["attempts"])
}

// An upgraded connection carries bytes both ways, also after a failed attempt, and
// for longer than a client may take for anything else.
func TestUpgrade(t *testing.T) {
	var hits atomic.Int32
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if hits.Add(1) == 1 {
			w.WriteHeader(503)
			return
		}
		assert.Equal(t, "echo", r.Header.Get("Upgrade"))
		conn, buf, err := w.(http.Hijacker).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		defer conn.Close()
		_, _ = buf.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = buf.Flush()
		_, _ = io.Copy(conn, buf)
	})), clientTimeout(500*time.Millisecond), settings(func(s *proxyconf.Settings) { s.Timeout = 500 * time.Millisecond }))
	conn, in := raw(t, p.url)
	send(t, conn, "GET /up HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, 101, resp.StatusCode)
	assert.EqualValues(t, 2, hits.Load())
	big := bytes.Repeat([]byte("0123456789abcdef"), 64<<10/16)
	pause := time.NewTicker(200 * time.Millisecond)
	defer pause.Stop()
	for range 4 { // 800 ms: more than the client's time, and the upstream's
		send(t, conn, string(big))
		got := make([]byte, len(big))
		_, err = io.ReadFull(in, got)
		require.NoError(t, err)
		assert.Equal(t, big, got)
		<-pause.C
	}
	require.NoError(t, conn.Close())
	assert.EqualValues(t, 101, p.log.request(t, "/up")["status"])
}

// An upstream that changes the protocol unasked, or to another, is not followed.
func TestUnaskedUpgrade(t *testing.T) {
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if assert.NoError(t, err) {
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: evil\r\n\r\n")
			_ = conn.Close()
		}
	})))
	resp, _ := do(t, "GET", p.url, "")
	assert.Equal(t, 502, resp.StatusCode)
	conn, in := raw(t, p.url)
	send(t, conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	assert.Equal(t, 502, resp.StatusCode)
}

// An upstream that fails after half of the request's body gets the whole of it in
// the next attempt.
func TestHalfReadBody(t *testing.T) {
	var hits atomic.Int32
	body := strings.Repeat("0123456789abcdef", 60<<10/16)
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		switch hits.Add(1) {
		case 1:
			_, err := io.ReadFull(r.Body, make([]byte, len(body)/2))
			assert.NoError(t, err)
			hangUp(w)
		case 2:
			_, err := io.ReadFull(r.Body, make([]byte, len(body)/2))
			assert.NoError(t, err)
			w.WriteHeader(503)
		default:
			got, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			_, _ = w.Write(got)
		}
	})))
	resp, text := do(t, "PUT", p.url, body)
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, body, text)
	assert.EqualValues(t, 3, hits.Load())
}

// An answer that breaks off does not look whole to the client, whether its length
// was known or not.
func TestHalfSentAnswer(t *testing.T) {
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/length" {
			w.Header().Set("Content-Length", "1000")
		}
		_, _ = w.Write(make([]byte, 500))
		_ = http.NewResponseController(w).Flush()
		hangUp(w)
	})))
	for _, path := range []string{"/length", "/chunked"} {
		resp, err := client(t).Get(p.url + path)
		if err == nil { // else not even the header had been sent on
			var got []byte
			got, err = io.ReadAll(resp.Body)
			assert.LessOrEqual(t, len(got), 500, path)
			require.NoError(t, resp.Body.Close())
		}
		assert.Error(t, err, path)
		assert.Equal(t, true, p.log.request(t, path)["cut"])
		assert.EqualValues(t, 1, p.log.request(t, path)["attempts"])
	}
}

// A body of 64 KiB is kept for a retry, one byte more is sent whole, but once.
func TestBodyLimit(t *testing.T) {
	var hits atomic.Int32
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Length", string(rune('0'+n%10)))
		if hits.Add(1) == 1 {
			w.WriteHeader(503)
		}
	})))
	resp, _ := do(t, "PUT", p.url+"/kept", strings.Repeat("x", 64<<10))
	assert.Equal(t, 200, resp.StatusCode)
	assert.EqualValues(t, 2, hits.Swap(0))
	assert.Zero(t, p.state(t).Stops["not_replayable"])

	resp, _ = do(t, "PUT", p.url+"/longer", strings.Repeat("x", 64<<10+1))
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, "7", resp.Header.Get("X-Length"), "65537 bytes arrived")
	assert.EqualValues(t, 1, hits.Load())
	assert.Equal(t, 1, p.state(t).Stops["not_replayable"])
	assert.Equal(t, "not_replayable", p.log.request(t, "/longer")["reason"])
}

// A client that leaves during an attempt ends it, and there is no other.
func TestCancelledClient(t *testing.T) {
	arrived, ended := make(chan struct{}, 3), make(chan struct{}, 3)
	p := start(t, one(t, upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	})))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, "GET", p.url+"/gone", nil)
		_, err := client(t).Do(req)
		failed <- err
	}()
	wait(t, "the attempt", arrived)
	cancel()
	assert.ErrorIs(t, wait(t, "the client's error", failed), context.Canceled)
	wait(t, "the end of the attempt", ended)
	said := p.log.request(t, "/gone")
	assert.EqualValues(t, 499, said["status"])
	assert.EqualValues(t, 1, said["attempts"])
	assert.Equal(t, "cancelled", said["reason"])
	assert.Equal(t, 500, p.state(t).Quota.Level)
	assert.Empty(t, arrived)
}

// A client that leaves during the wait for a retry ends it, and the tokens of the
// retry come back.
func TestClientGoneWhileWaiting(t *testing.T) {
	var hits atomic.Int32
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.Header().Set("X-Amz-Retry-After", "5000")
		w.WriteHeader(503)
	})))
	conn, _ := raw(t, p.url)
	send(t, conn, "GET /waits HTTP/1.1\r\nHost: a\r\n\r\n")
	p.log.wait(t, func(l line) bool { return l.message == "retry" })
	assert.Equal(t, 500-14, p.state(t).Quota.Level)
	require.NoError(t, conn.Close())
	said := p.log.request(t, "/waits")
	assert.EqualValues(t, 499, said["status"])
	assert.Less(t, said["took"], 4*time.Second)
	s := p.state(t)
	assert.Equal(t, 500, s.Quota.Level, "R6.3")
	assert.Equal(t, 1, s.Retries.Unsent)
	assert.Equal(t, 1, s.Stops["cancelled"])
	assert.EqualValues(t, 1, hits.Load())
}

// A client that takes nothing, or sends nothing, is let go, and the upstream with
// it; one that is slow but goes on is not.
func TestSlowClient(t *testing.T) {
	const limit, bits, pause = time.Second, 15, 100 * time.Millisecond // one and a half times the limit in all
	ended := map[string]chan error{"/endless": make(chan error, 1), "/stops": make(chan error, 1), "/bits": make(chan error, 1)}
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			piece := make([]byte, 64<<10)
			for {
				if _, err := w.Write(piece); err != nil {
					ended[r.URL.Path] <- err
					return
				}
			}
		case "/steady":
			next := time.NewTicker(pause)
			defer next.Stop()
			for range bits {
				_, _ = w.Write([]byte("piece\n"))
				_ = http.NewResponseController(w).Flush()
				<-next.C
			}
		default:
			_, err := io.ReadAll(r.Body)
			ended[r.URL.Path] <- err
		}
	})), clientTimeout(limit))

	for name, test := range map[string]func(*testing.T){
		"takes nothing": func(t *testing.T) {
			conn, in := raw(t, p.url)
			send(t, conn, "GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
			_, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			assert.Error(t, wait(t, "the end of the endless answer", ended["/endless"]), "nobody took it")
			assert.Equal(t, true, p.log.request(t, "/endless")["cut"])
		},
		"stops in the body": func(t *testing.T) {
			conn, in := raw(t, p.url)
			send(t, conn, "PUT /stops HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345")
			resp, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			assert.Equal(t, 408, resp.StatusCode)
			assert.Error(t, wait(t, "the end of the half body", ended["/stops"]))
			assert.EqualValues(t, 1, p.log.request(t, "/stops")["attempts"], "no other attempt has more of it")
		},
		"stops in the header": func(t *testing.T) {
			conn, in := raw(t, p.url)
			send(t, conn, "GET /header HTTP/1.1\r\nHost: a\r\nX-Unfinis")
			answer, err := io.ReadAll(in) // up to the end of the connection
			assert.NoError(t, err)
			assert.NotContains(t, string(answer), "200")
		},
		"takes bit by bit": func(t *testing.T) {
			_, text := do(t, "GET", p.url+"/steady", "")
			assert.Equal(t, strings.Repeat("piece\n", bits), text)
		},
		"sends bit by bit": func(t *testing.T) {
			body, feed := io.Pipe()
			go func() {
				next := time.NewTicker(pause)
				defer next.Stop()
				for range bits {
					_, _ = feed.Write([]byte("bit"))
					<-next.C
				}
				_ = feed.Close()
			}()
			resp, err := client(t).Post(p.url+"/bits", "text/plain", body)
			require.NoError(t, err)
			defer resp.Body.Close()
			assert.Equal(t, 200, resp.StatusCode)
			assert.NoError(t, wait(t, "the whole body", ended["/bits"]))
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t) })
	}
}
