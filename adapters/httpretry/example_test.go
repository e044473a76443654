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
