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
