package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// busyServer answers 503 to the first n requests.
func busyServer(n int) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n--; n >= 0 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		text, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "hello %s", text)
	}))
}

func Example() {
	server := busyServer(2)
	defer server.Close()

	e, err := engine.New()
	if err != nil {
		panic(err)
	}
	client := httpretry.Client(e)

	resp, err := client.Get(server.URL)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}

func ExampleNew() {
	server := busyServer(1)
	defer server.Close()

	e, err := engine.New(engine.WithMaxAttempts(5))
	if err != nil {
		panic(err)
	}
	transport, err := httpretry.New(e,
		httpretry.WithBase(&http.Transport{ResponseHeaderTimeout: 10 * time.Second}),
		httpretry.WithAttemptTimeout(5*time.Second),
		httpretry.WithStandardRetryAfter(),
	)
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}

	req, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader("world"))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Idempotency-Key", "7f1c0a4e") // this POST may be sent twice
	resp, err := client.Do(req)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	fmt.Println(string(text))
	// Output: hello world
}

func ExampleClient() {
	server := busyServer(100)
	defer server.Close()

	e, err := engine.New(engine.WithTokens(0)) // an outage has emptied the quota
	if err != nil {
		panic(err)
	}
	resp, err := httpretry.Client(e).Get(server.URL)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	fmt.Printf("%s: %s", resp.Status, text)
	// Output: 503 Service Unavailable: busy
}

func ExampleResultOf() {
	server := busyServer(100)
	defer server.Close()

	e, err := engine.New()
	if err != nil {
		panic(err)
	}
	client := httpretry.Client(e)

	resp, err := client.Post(server.URL, "text/plain", strings.NewReader("an order"))
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	if result, ok := httpretry.ResultOf(resp); ok && !result.Succeeded {
		fmt.Printf("%s after %d attempt: %v\n", result.Reason, result.Attempts, result.NotReplayable)
	}
	// Output: not_replayable after 1 attempt: reprise/httpretry: POST is not idempotent, and the request has no Idempotency-Key header
}

// A response that was let go for a retry which the caller then gave up is in the
// error.
func ExampleResponseError() {
	server := busyServer(100)
	defer server.Close()

	ctx, cancel := context.WithCancel(context.Background())
	giveUp := engine.Observer{Retry: func(engine.RetryEvent) { cancel() }}
	e, err := engine.New(engine.WithObserver(giveUp))
	if err != nil {
		panic(err)
	}

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		panic(err)
	}
	_, err = httpretry.Client(e).Do(req)
	var answer *httpretry.ResponseError
	fmt.Println(errors.Is(err, engine.ErrCancelled), errors.As(err, &answer), answer.Status)
	// Output: true true 503
}

// clock prints the waits instead of waiting.
type clock struct{}

func (clock) Now() time.Time { return time.Now() }

func (clock) Sleep(_ context.Context, d time.Duration, _ <-chan struct{}) { fmt.Println("waits", d) }

// A poller asks again at once, so a refused retry has to slow it down.
func ExampleLongPoll() {
	server := busyServer(100)
	defer server.Close()

	e, err := engine.New(
		engine.WithTokens(0), // an outage has emptied the quota
		engine.WithSource(fastbackoff.Fixed(0.5)),
		engine.WithClock(clock{}),
	)
	if err != nil {
		panic(err)
	}
	ctx := httpretry.LongPoll(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		panic(err)
	}
	resp, err := httpretry.Client(e).Do(req)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// waits 25ms
	// 503 Service Unavailable
}

// A gateway of many upstreams: each has its own quota, so that one that is down
// takes nobody else's retries.
func ExampleWithEngineByHost() {
	down, up := busyServer(100), busyServer(1)
	defer down.Close()
	defer up.Close()

	e, err := engine.New(engine.WithQuota(engine.Quota{Capacity: 28})) // two retries
	if err != nil {
		panic(err)
	}
	group, err := engine.NewGroup[string](e, 10_000)
	if err != nil {
		panic(err)
	}
	client := httpretry.Client(e, httpretry.WithEngineByHost(group))
	for _, url := range []string{down.URL, down.URL, up.URL} {
		resp, err := client.Get(url)
		if err != nil {
			panic(err)
		}
		result, _ := httpretry.ResultOf(resp)
		fmt.Println(resp.StatusCode, result.Attempts, result.Reason)
		resp.Body.Close()
	}
	fmt.Println(group.Len(), "engines")
	// Output:
	// 503 3 max_attempts
	// 503 1 quota
	// 200 2 non_retryable
	// 2 engines
}

// An engine by tenant, and New's own for whoever is none.
func ExampleWithEngineFor() {
	server := busyServer(100)
	defer server.Close()

	own, err := engine.New(engine.WithMaxAttempts(1))
	if err != nil {
		panic(err)
	}
	template, err := engine.New(engine.WithMaxAttempts(2))
	if err != nil {
		panic(err)
	}
	tenants, err := engine.NewGroup[string](template, 1000)
	if err != nil {
		panic(err)
	}
	client := httpretry.Client(own, httpretry.WithEngineFor(func(req *http.Request) *engine.Engine {
		if tenant := req.Header.Get("Tenant"); tenant != "" {
			return tenants.For(tenant)
		}
		return nil
	}))
	for _, tenant := range []string{"a", ""} {
		req, err := http.NewRequest(http.MethodGet, server.URL, nil)
		if err != nil {
			panic(err)
		}
		req.Header.Set("Tenant", tenant)
		resp, err := client.Do(req)
		if err != nil {
			panic(err)
		}
		result, _ := httpretry.ResultOf(resp)
		fmt.Println(result.Attempts)
		resp.Body.Close()
	}
	// Output:
	// 2
	// 1
}

// A server that calls on: what its client retries, it does not.
func ExampleRetryMarkHandler() {
	sent := 0
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer down.Close()

	e, err := engine.New()
	if err != nil {
		panic(err)
	}
	client := httpretry.Client(e, httpretry.WithRetryMark())

	middle := httptest.NewServer(httpretry.RetryMarkHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, down.URL, nil)
		if err != nil {
			panic(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			panic(err)
		}
		resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
	})))
	defer middle.Close()

	resp, err := client.Get(middle.URL)
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode, "after", sent, "requests, not 9")
	// Output: 503 after 3 requests, not 9
}

// A program that retries by itself tells the client that it does.
func ExampleRetryMark() {
	server := busyServer(2)
	defer server.Close()

	e, err := engine.New()
	if err != nil {
		panic(err)
	}
	client := httpretry.Client(e)
	for attempt := 1; ; attempt++ {
		ctx := httpretry.RetryMark(context.Background(), attempt)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			panic(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			panic(err)
		}
		resp.Body.Close()
		fmt.Println("attempt", attempt, "got", resp.StatusCode)
		if resp.StatusCode < 500 {
			break
		}
	}
	// Output:
	// attempt 1 got 503
	// attempt 2 got 503
	// attempt 3 got 200
}

// The first request hangs; the hedge does not wait for it.
func ExampleWithHedge() {
	hang := make(chan struct{}, 1)
	hang <- struct{}{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
			<-r.Context().Done()
		default:
			fmt.Fprint(w, "hello")
		}
	}))
	defer server.Close()

	e, err := engine.New()
	if err != nil {
		panic(err)
	}
	resp, err := httpretry.Client(e, httpretry.WithHedge(20*time.Millisecond)).Get(server.URL)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	result, _ := httpretry.ResultOf(resp)
	fmt.Printf("%s, %d attempts, %d a hedge\n", resp.Status, result.Attempts, result.Hedges)
	// Output: 200 OK, 2 attempts, 1 a hedge
}

// A gateway whose upstream may fail by hanging up: each connection that dies is a
// failed attempt, and nothing is sent that the quota has not paid for.
func ExampleNoResend() {
	server := busyServer(1)
	defer server.Close()

	e, err := engine.New()
	if err != nil {
		panic(err)
	}
	base := &http.Transport{MaxIdleConnsPerHost: 64}
	client := httpretry.Client(e, httpretry.WithBase(httpretry.NoResend(base)))

	resp, err := client.Get(server.URL)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}
