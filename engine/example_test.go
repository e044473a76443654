package engine_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

func Example() {
	e, err := engine.New()
	if err != nil {
		panic(err)
	}
	attempts := 0
	answer, err := engine.Do(context.Background(), e, func(context.Context) (string, error) {
		if attempts++; attempts < 3 {
			return "", &statusError{status: 503} // an error with HTTPStatusCode() int
		}
		return "hello", nil
	})
	fmt.Println(answer, err, "after", attempts, "attempts")
	// Output: hello <nil> after 3 attempts
}

func ExampleRun() {
	e, _ := engine.New(engine.WithMaxAttempts(2), engine.WithSource(fastbackoff.Fixed(0)))
	err := engine.Run(context.Background(), e, func(context.Context) error {
		return codeError("SlowDown") // an error with ErrorCode() string
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, engine.ErrMaxAttempts), errors.Is(err, codeError("SlowDown")))
	// Output:
	// reprise/engine: attempts used up after 2 attempts: service says SlowDown
	// true true
}

// A call without goroutines, waits or contexts, for event loops: the caller
// keeps the time.
func ExampleCall() {
	e, _ := engine.New(engine.WithSource(fastbackoff.Fixed(0.5)))
	now := time.Unix(0, 0)

	c := e.Begin()
	for _, class := range []classify.Class{classify.Throttling, classify.Transient} {
		c.Admit() // the attempt is sent, and fails
		d := c.FailAt(now, engine.Outcome{Class: class, Deadline: time.Unix(60, 0)})
		if d.Reason != engine.ReasonRetry {
			fmt.Println("over:", d.Reason)
			return
		}
		now = now.Add(d.Delay)
		fmt.Println(class, "retry after", d.Delay, "quota", e.Stats().QuotaLevel)
	}
	c.Admit()
	c.Succeed()
	fmt.Println("done, quota", e.Stats().QuotaLevel)
	// Output:
	// throttling retry after 500ms quota 495
	// transient retry after 50ms quota 481
	// done, quota 495
}

func ExampleEngine_Derive() {
	client, _ := engine.New(engine.WithService("DynamoDB"))
	batch, _ := client.Derive(engine.WithMaxAttempts(10)) // pays from the same quota
	fmt.Println(client.MaxAttempts(), batch.MaxAttempts(), batch.Schedule().Transient)
	// Output: 4 10 25ms
}

func ExampleObserver() {
	e, _ := engine.New(
		engine.WithSource(fastbackoff.Fixed(0)),
		engine.WithObserver(engine.Observer{
			Retry: func(r engine.RetryEvent) { fmt.Println("attempt", r.Attempt, r.Class, "costs", r.Cost) },
			Stop:  func(s engine.StopEvent) { fmt.Println("stopped:", s.Reason) },
		}))
	_ = engine.Run(context.Background(), e, func(context.Context) error { return codeError("RequestTimeout") })
	// Output:
	// attempt 1 transient costs 14
	// attempt 2 transient costs 14
	// stopped: max_attempts
}

// A gateway asks before it passes a request on: what the limiter does not admit
// within the caller's deadline is answered 429 with the wait.
func ExampleCall_AdmitWait() {
	e, _ := engine.New(engine.WithMode(engine.Adaptive))
	first := e.Begin()
	first.Admit()
	first.Fail(engine.Outcome{Class: classify.Throttling}) // so the limiter cuts in

	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	c := e.Begin()
	if d := c.AdmitWait(ctx); d.Reason != engine.ReasonRetry {
		fmt.Println(d.Reason, "- 429, with a Retry-After:", d.Delay > 100*time.Millisecond)
	}
	// Output: deadline - 429, with a Retry-After: true
}

// A gateway keeps an engine for each upstream: what fails uses up its own retries
// and nobody else's.
func ExampleGroup() {
	template, _ := engine.New(engine.WithMaxAttempts(2), engine.WithSource(fastbackoff.Fixed(0)))
	upstreams, _ := engine.NewGroup[string](template, 10_000)

	for range 200 {
		_ = engine.Run(context.Background(), upstreams.For("down.example"), func(context.Context) error {
			return &statusError{status: 503}
		})
	}
	for host, e := range upstreams.All() {
		fmt.Println(host, "has", e.Stats().QuotaLevel, "tokens left")
	}
	fmt.Println("up.example has", upstreams.For("up.example").Stats().QuotaLevel, "of its own")
	// Output:
	// down.example has 10 tokens left
	// up.example has 500 of its own
}

// Settings that differ by key; a key without a template is not retried.
func ExampleNewGroupFunc() {
	reads, _ := engine.New(engine.WithMaxAttempts(5))
	writes, _ := engine.New(engine.WithMaxAttempts(2))
	type op struct{ upstream, method string }
	ops, _ := engine.NewGroupFunc(func(key op) *engine.Engine {
		switch key.method {
		case "GET", "HEAD":
			return reads
		case "PUT":
			return writes
		}
		return nil
	}, 10_000)
	for _, method := range []string{"GET", "PUT", "POST"} {
		fmt.Println(method, ops.For(op{"a.example", method}).MaxAttempts())
	}
	_ = ops.Reconfigure(engine.WithMaxAttempts(3)) // for every engine, those to come too
	fmt.Println("GET", ops.For(op{"a.example", "GET"}).MaxAttempts(), "POST", ops.For(op{"a.example", "POST"}).MaxAttempts())
	// Output:
	// GET 5
	// PUT 2
	// POST 1
	// GET 3 POST 1
}

// An operator's change reaches calls that are under way; no token is lost.
func ExampleEngine_Reconfigure() {
	e, _ := engine.New(engine.WithTokens(300))
	err := e.Reconfigure(engine.WithMaxAttempts(5), engine.WithQuota(engine.Quota{Capacity: 1000}))
	fmt.Println(err, e.MaxAttempts(), "attempts,", e.Stats().QuotaLevel, "of", e.Quota().Capacity, "tokens")
	fmt.Println(e.Reconfigure(engine.WithMode(engine.Legacy)))
	// Output:
	// <nil> 5 attempts, 300 of 1000 tokens
	// reprise/engine: WithMode cannot be changed while calls are under way: set it in New
}
