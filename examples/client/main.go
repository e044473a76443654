// Command client shows an http.Client behind the retry engine: a server on
// 127.0.0.1 that fails now and then, a request that may not be sent twice, and an
// outage. It ends by itself within seconds.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	shop := &server{}
	listening := httptest.NewServer(shop)
	defer listening.Close()

	// These are the two lines that a program adds.
	e, err := engine.New()
	if err != nil {
		return err
	}
	client := httpretry.Client(e)
	defer client.CloseIdleConnections()

	// http.Client's time-out bounds a call with all its attempts and delays.
	client.Timeout = 30 * time.Second

	get := func() (*http.Request, error) { return http.NewRequest(http.MethodGet, listening.URL, nil) }
	post := func() (*http.Request, error) {
		return http.NewRequest(http.MethodPost, listening.URL, strings.NewReader("an order"))
	}
	keyed := func() (*http.Request, error) {
		req, err := post()
		if err == nil {
			req.Header.Set("Idempotency-Key", "7f1c0a4e") // the server knows it when it comes again
		}
		return req, err
	}
	for _, step := range []struct {
		name  string
		every int32 // which requests fail
		calls int
		req   func() (*http.Request, error)
	}{
		{"GET, one request in three fails", 3, 20, get},
		{"POST, all fail", 1, 1, post},
		{"POST with a key, one in two fails", 2, 4, keyed},
		{"GET, all fail", 1, 30, get},
	} {
		shop.begin(step.every)
		ok, reasons := 0, map[engine.Reason]int{}
		for range step.calls {
			req, err := step.req()
			if err != nil {
				return err
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, resp.Body) // a 503 too comes with its own body
			resp.Body.Close()
			if result, _ := httpretry.ResultOf(resp); resp.StatusCode < 400 {
				ok++
			} else {
				reasons[result.Reason]++
			}
		}
		fmt.Fprintf(out, "%s: %d of %d calls succeeded, %d requests sent, %d tokens left", step.name, ok, step.calls, shop.requests.Load(), e.Stats().QuotaLevel)
		for _, reason := range []engine.Reason{engine.ReasonNotReplayable, engine.ReasonMaxAttempts, engine.ReasonQuota} {
			if n := reasons[reason]; n > 0 {
				fmt.Fprintf(out, "; %s: %d", reason, n)
			}
		}
		fmt.Fprintln(out)
	}

	// An error that is not the server's answer says why the call ended.
	listening.Close()
	addr := listening.Listener.Addr().String()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := get()
	if err != nil {
		return err
	}
	_, err = client.Do(req.WithContext(ctx))
	fmt.Fprintln(out, "nobody listens:", strings.ReplaceAll(err.Error(), addr, "ADDR"))
	return nil
}

// server answers 503 to every so many requests.
type server struct{ requests, every atomic.Int32 }

func (s *server) begin(every int32) {
	s.requests.Store(0)
	s.every.Store(every)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.requests.Add(1)%s.every.Load() == 0 {
		http.Error(w, "busy", http.StatusServiceUnavailable)
	}
}
