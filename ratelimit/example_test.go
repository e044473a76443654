package ratelimit_test

import (
	"fmt"
	"time"

	"github.com/reprise-go/reprise/ratelimit"
)

// An event loop has an instant anyway and asks with it; a wait goes into its
// timers.
func ExampleLimiter_AcquireAt() {
	now := time.Unix(1_800_000_000, 0)
	l := ratelimit.New(now)
	fmt.Println("before any throttle:", l.AcquireAt(now))
	l.UpdateAt(now, true) // the response says that it was throttled
	fmt.Println("after one:", l.AcquireAt(now))
	fmt.Println("as told:", l.AcquireAt(now.Add(2*time.Second)))
	// Output:
	// before any throttle: 0s
	// after one: 2s
	// as told: 0s
}

// A gateway answers 429 with the wait.
func ExampleLimiter_TryAdmitAt() {
	now := time.Unix(1_800_000_000, 0)
	l := ratelimit.New(now)
	l.UpdateAt(now, true)
	if wait, err := l.TryAdmitAt(now, 1); err != nil {
		fmt.Println(err)
	} else if wait > 0 {
		fmt.Println("429, Retry-After:", wait.Seconds())
	}
	_, err := l.TryAdmitAt(now, 2)
	fmt.Println(err)
	// Output:
	// 429, Retry-After: 2
	// reprise/ratelimit: cost out of range: 2 tokens: want at most the capacity, 1 now
}

// Three wait; each is told when its turn comes.
func ExampleLimiter_Wait() {
	now := time.Unix(1_800_000_000, 0)
	l := ratelimit.New(now)
	l.UpdateAt(now, true)
	for range 3 {
		w := l.Wait()
		defer w.Leave()
		fmt.Println(w.AdmitAt(now))
	}
	// Output:
	// 2s false
	// 4s false
	// 6s false
}
