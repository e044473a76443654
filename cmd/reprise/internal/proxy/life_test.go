package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxy"
	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
	"github.com/reprise-go/reprise/engine"
)

// Reloads under load drop no request and no token: a fifth of the attempts fails,
// every call ends well, and what retries took is back in the end.
func TestReloadDuringLoad(t *testing.T) {
	var hits atomic.Int32
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		if hits.Add(1)%5 == 0 {
			w.WriteHeader(503)
		}
	})
	c := one(t, up)
	c.Upstreams[0].MaxAttempts = 10
	p := start(t, c)
	callers, calls, reloads := 8, 400, 100
	if testing.Short() {
		calls, reloads = 50, 20
	}
	var load sync.WaitGroup
	stop := make(chan struct{})
	for range callers {
		load.Go(func() {
			c := &http.Client{Transport: &http.Transport{}, Timeout: patience}
			defer c.CloseIdleConnections()
			for n := 0; ; n++ {
				select {
				case <-stop:
					if n >= calls {
						return
					}
				default:
				}
				resp, err := c.Get(p.url)
				if !assert.NoError(t, err) {
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				assert.Equal(t, 200, resp.StatusCode)
			}
		})
	}
	for n := range reloads {
		// Each is another table; the URL is there or has company, attempts and
		// capacity change.
		next := one(t, up)
		if n%3 == 1 {
			next = one(t, up, strings.Replace(up, "127.0.0.1", "localhost", 1))
		}
		next.Upstreams[0].MaxAttempts = 10 + n%2
		next.Upstreams[0].Quota = engine.Quota{Capacity: 500 + n%7}
		require.NoError(t, p.Reload(next))
	}
	close(stop)
	load.Wait()
	s := p.state(t)
	assert.Greater(t, s.Retries.Transient, 0)
	assert.Zero(t, s.Stops["quota"]+s.Stops["max_attempts"]+s.Stops["cancelled"])
}

// Tokens that retries have out come back through any number of reloads: ten calls
// wait for their retry, and each then takes back what it took.
func TestReloadKeepsTokensThatAreOut(t *testing.T) {
	const calls = 10
	var hits atomic.Int32
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		if hits.Add(1) <= calls {
			w.Header().Set("X-Amz-Retry-After", "400")
			w.WriteHeader(503)
		}
	})
	p := start(t, one(t, up))
	var load sync.WaitGroup
	for range calls {
		load.Go(func() {
			resp, err := client(t).Get(p.url)
			if assert.NoError(t, err) {
				assert.Equal(t, 200, resp.StatusCode)
				_ = resp.Body.Close()
			}
		})
	}
	require.Eventually(t, func() bool { return p.state(t).Quota.Level == 500-calls*14 }, patience, time.Millisecond)
	for n := range 20 {
		next := one(t, up)
		next.Upstreams[0].Quota = engine.Quota{Capacity: 500 + n%3, TransientCost: 20}
		require.NoError(t, p.Reload(next))
	}
	require.NoError(t, p.Reload(one(t, up)))
	require.Equal(t, 500-calls*14, p.state(t).Quota.Level)
	load.Wait()
	assert.Equal(t, 500, p.state(t).Quota.Level, "what they took, whatever retries cost meanwhile")
	assert.EqualValues(t, 2*calls, hits.Load())
}

// What a reload keeps and what it does not.
func TestReload(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	c := one(t, up)
	p := start(t, c)
	do(t, "GET", p.url, "")
	level := p.state(t).Quota.Level
	require.Equal(t, 500-2*14, level)

	changed := one(t, up)
	changed.Upstreams[0].Service = "dynamodb"
	changed.Upstreams[0].Quota.Capacity = 480
	require.NoError(t, p.Reload(changed))
	s := p.state(t)
	assert.Equal(t, 480, s.Quota.Capacity)
	assert.Equal(t, level, s.Quota.Level, "the engine is the same")
	assert.Equal(t, 2, s.Retries.Transient)
	do(t, "GET", p.url, "")
	assert.Equal(t, 2+3, p.state(t).Retries.Transient, "DynamoDB makes 4 attempts (R1.1)")
	level -= 3 * 14

	changed.Upstreams[0].Mode = engine.Adaptive
	require.NoError(t, p.Reload(changed))
	s = p.state(t)
	assert.Equal(t, level, s.Quota.Level, "another mode is another engine, at the level of the old")
	assert.Zero(t, s.Retries.Transient)
	_, text := do(t, "GET", p.admin+"/-/metrics", "")
	assert.Contains(t, text, `reprise_calls_total{engine="default",key=""} 2`, "the counts of calls go on")
	assert.Contains(t, text, `reprise_attempts_total{engine="default",key=""} 7`)
	assert.Contains(t, text, `reprise_limiter_enabled{engine="default",key=""} 0`)

	loop := one(t, p.url)
	assert.ErrorContains(t, p.Reload(loop), "which is where the proxy itself listens")
	resp, _ := do(t, "GET", p.url, "")
	assert.Equal(t, 503, resp.StatusCode, "what was served goes on")

	renamed := one(t, up)
	renamed.Upstreams[0].Name = "other"
	require.NoError(t, p.Reload(renamed))
	assert.Equal(t, 500, p.state(t).Quota.Level, "another name is another upstream")
	_, text = do(t, "GET", p.admin+"/-/metrics", "")
	assert.Contains(t, text, `reprise_proxy_reloads_total{result="ok"} 3`)
	assert.Contains(t, text, `reprise_proxy_reloads_total{result="failed"} 1`)
	assert.NotContains(t, text, `upstream="default"`)
	assert.NotContains(t, text, `engine="default"`)
}

func TestStartErrors(t *testing.T) {
	free := proxy.Options{Listen: "127.0.0.1:0", Log: newLoggedLogger(), MaxConnections: 1}
	for _, row := range []struct {
		listen, admin, want string
	}{
		{":8080", "", `--listen ":8080": want HOST:PORT`},
		{"127.0.0.1", "", `--listen "127.0.0.1": want HOST:PORT`},
		{"127.0.0.1:99999", "", "--listen 127.0.0.1:99999"},
		{"127.0.0.1:0", ":9901", `--admin ":9901": want HOST:PORT`},
		{"192.0.2.1:80", "", "--listen 192.0.2.1:80"},
	} {
		o := free
		o.Listen, o.Admin = row.listen, row.admin
		_, err := proxy.Start(o, one(t, unused(t)))
		assert.ErrorContains(t, err, row.want)
	}
	p := start(t, one(t, unused(t)))
	o := free
	o.Listen = p.Addr().String()
	_, err := proxy.Start(o, one(t, unused(t)))
	assert.ErrorContains(t, err, "address already in use")
	port := p.Addr().(*net.TCPAddr).Port
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST"} {
		err = p.Reload(one(t, fmt.Sprintf("http://%s:%d", host, port)))
		assert.ErrorContains(t, err, "which is where the proxy itself listens", host)
	}
	assert.NoError(t, p.Reload(one(t, fmt.Sprintf("http://127.0.0.2:%d", port))))
}

// Requests under way are served to their end, upgraded connections too; no new
// ones come in, and the admin endpoints say so.
func TestShutdownWaits(t *testing.T) {
	arrived, release := make(chan struct{}, 2), make(chan struct{})
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		if r.URL.Path == "/up" {
			conn, buf, _ := w.(http.Hijacker).Hijack()
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_, _ = io.Copy(conn, buf)
			return
		}
		<-release
		_, _ = io.WriteString(w, "whole")
	})))
	conn, in := raw(t, p.url)
	send(t, conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	up, upIn := raw(t, p.url)
	send(t, up, "GET /up HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_, err := http.ReadResponse(upIn, nil)
	require.NoError(t, err)
	wait(t, "the first request", arrived)
	wait(t, "the second request", arrived)

	ended := make(chan error, 1)
	go func() { ended <- p.Shutdown(t.Context()) }()
	require.Eventually(t, func() bool {
		resp, _ := do(t, "GET", p.admin+"/-/healthy", "")
		return resp.StatusCode == 503
	}, patience, time.Millisecond)
	require.Eventually(t, func() bool { _, err := client(t).Get(p.url); return err != nil }, patience, time.Millisecond)
	close(release)
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "whole", string(text))

	send(t, up, "still there")
	got := make([]byte, len("still there"))
	_, err = io.ReadFull(upIn, got)
	require.NoError(t, err)
	assert.Empty(t, ended)
	require.NoError(t, up.Close())
	assert.NoError(t, wait(t, "the end", ended))
}

// What takes longer than the time to end is told so, and cut off.
func TestShutdownCuts(t *testing.T) {
	arrived := make(chan struct{}, 2)
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/up" {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			arrived <- struct{}{}
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
			return
		}
		arrived <- struct{}{}
		<-r.Context().Done()
	})))
	conn, in := raw(t, p.url)
	send(t, conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	up, upIn := raw(t, p.url)
	send(t, up, "GET /up HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_, err := http.ReadResponse(upIn, nil)
	require.NoError(t, err)
	wait(t, "the first request", arrived)
	wait(t, "the second request", arrived)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	assert.EqualError(t, p.Shutdown(ctx), "requests cut off because they took longer than the time to end: 2")
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	assert.Equal(t, 503, resp.StatusCode)
	assert.True(t, resp.Close)
	_, err = upIn.ReadByte()
	assert.ErrorIs(t, err, io.EOF)
}

func TestAdmin(t *testing.T) {
	c, err := proxyconf.Parse("p.yaml", fmt.Appendf(nil, `upstreams:
- {name: plain, urls: %q, paths: /plain}
- {name: limited, urls: %[1]q, paths: /limited, mode: adaptive}
- {name: old, urls: %[1]q, mode: legacy, max_attempts: 1}
`, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/limited" {
			w.WriteHeader(429)
		}
	})))
	require.NoError(t, err)
	c.Upstreams[1].MaxAttempts = 1
	p := start(t, c)
	for _, path := range []string{"/plain", "/limited", "/old"} {
		do(t, "GET", p.url+path, "")
	}
	conn, in := raw(t, p.url)
	send(t, conn, "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n")
	_, err = http.ReadResponse(in, nil)
	require.NoError(t, err)

	resp, text := do(t, "GET", p.admin+"/-/healthy", "")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, "healthy\n", text)
	resp, _ = do(t, "GET", p.admin+"/", "")
	assert.Equal(t, 404, resp.StatusCode)
	resp, _ = do(t, "POST", p.admin+"/-/engines", "")
	assert.Equal(t, 405, resp.StatusCode)

	resp, text = do(t, "GET", p.admin+"/-/metrics", "")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Contains(t, resp.Header.Get("Content-Type"), "text/plain")
	for _, want := range []string{
		`reprise_quota_tokens{engine="plain",key=""} 500`, `reprise_calls_total{engine="plain",key=""} 1`, `reprise_attempts_total{engine="limited",key=""} 1`,
		`reprise_stops_total{engine="limited",key="",reason="max_attempts"} 1`, `reprise_limiter_enabled{engine="limited",key=""} 1`,
		`reprise_proxy_responses_total{code="2xx",upstream="plain"} 1`, `reprise_proxy_responses_total{code="4xx",upstream="limited"} 1`,
		`reprise_proxy_response_seconds_count{upstream="old"} 1`, "reprise_proxy_refused_requests_total 1", `version="test"`, "go_goroutines",
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, `reprise_quota_tokens{engine="old"`, "R1.4: there is none")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	for _, problem := range problems {
		assert.False(t, strings.HasPrefix(problem.Metric, "reprise_"), problem)
	}

	resp, text = do(t, "GET", p.admin+"/-/engines", "")
	assert.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	for _, want := range []string{`"schema": "reprise.engines/1"`, `"quota": null`, `"limiter": null`, `"enabled": true`, `"not_replayable": 0`, `"level_tokens": 500`} {
		assert.Contains(t, text, want)
	}
}
