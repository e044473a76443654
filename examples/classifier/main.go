// Command classifier shows a function that may fail, behind the retry engine, with
// a service on 127.0.0.1 whose error codes are its own: first as they come, then
// with a classifier that knows them. It ends by itself within seconds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// What the service's manual says of its errors.
var (
	codes = map[string]classify.Class{
		"LedgerLocked": classify.Transient,    // try again soon
		"DailyPace":    classify.Throttling,   // try again later
		"Maintenance":  classify.NonRetryable, // a 503 that lasts for hours
	}
	statuses = map[int]classify.Class{http.StatusTooEarly: classify.Transient}
)

func run(ctx context.Context, out io.Writer) error {
	// The published rules: no code of the service's is among them.
	e, err := engine.New()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "as published")
	if err := chargeAll(ctx, out, e); err != nil {
		return err
	}

	// The same, and what the manual says.
	own, err := classify.Default.With(classify.Overrides{Codes: codes, Statuses: statuses})
	if err != nil {
		return err
	}
	e, err = engine.New(engine.WithClassifier(own))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "with the service's own codes")
	return chargeAll(ctx, out, e)
}

// chargeAll charges each account at a service that has just been started.
func chargeAll(ctx context.Context, out io.Writer, e *engine.Engine) error {
	service := httptest.NewServer(&ledger{seen: map[string]int{}})
	defer service.Close()
	for _, account := range []string{"locked", "busy", "early", "down", "no-funds"} {
		charge := func(ctx context.Context) (string, error) { return post(ctx, service.URL+"/"+account) }

		receipt, err := engine.Do(ctx, e, charge)

		var refused *engine.Error // a first failure that is not retryable comes back untouched
		switch {
		case err == nil:
			fmt.Fprintf(out, "  %-9s %s\n", account, receipt)
		case errors.As(err, &refused):
			fmt.Fprintf(out, "  %-9s %s after %d attempts: %v\n", account, refused.Reason, refused.Attempts, refused.Err)
		default:
			fmt.Fprintf(out, "  %-9s not sent again: %v\n", account, err)
		}
	}
	return ctx.Err()
}

// serviceError is what the service says. The classifier finds these two methods
// anywhere in a chain of errors; RetryableError() bool would beat both.
type serviceError struct {
	status int
	Code   string `json:"code"`
}

func (e *serviceError) Error() string       { return fmt.Sprintf("%d %s", e.status, e.Code) }
func (e *serviceError) ErrorCode() string   { return e.Code }
func (e *serviceError) HTTPStatusCode() int { return e.status }

func post(ctx context.Context, url string) (receipt string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		failure := &serviceError{status: resp.StatusCode}
		_ = json.Unmarshal(body, failure) // a proxy's 503 has no code
		return "", failure
	}
	return string(body), nil
}

// ledger fails the first request for each account that it takes at all.
type ledger struct {
	mu   sync.Mutex
	seen map[string]int
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.seen[r.URL.Path]++
	n := l.seen[r.URL.Path]
	l.mu.Unlock()
	fail := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code": %q}`, code)
	}
	switch {
	case r.URL.Path == "/no-funds":
		fail(http.StatusPaymentRequired, "NoFunds")
	case r.URL.Path == "/down":
		fail(http.StatusServiceUnavailable, "Maintenance")
	case n > 1:
		fmt.Fprintf(w, "charged at attempt %d", n)
	case r.URL.Path == "/locked":
		fail(http.StatusConflict, "LedgerLocked")
	case r.URL.Path == "/busy":
		fail(http.StatusBadRequest, "DailyPace")
	default:
		fail(http.StatusTooEarly, "TooSoon") // no code that the table knows, so the status counts
	}
}
