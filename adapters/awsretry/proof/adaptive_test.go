package proof_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry/proof/faulty"
	"github.com/reprise-go/reprise/engine"
)

// history is what a client sends in a series of calls.
type history struct {
	at     []time.Duration // of each request
	failed int             // calls
	tokens int
}

// series makes calls one after the other, each answered after 3 ms by what fault
// says of the request.
func series(t *testing.T, make func(testing.TB, int) clientOptions, calls int, fault func(n int) faulty.Fault) (h history) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		options := make(t, 0)
		options.keep = keepResults(nil)
		client := options.dynamo(w)
		w.proxy.Choose(func(n int) faulty.Fault { return faulty.After(3*time.Millisecond, fault(n)) })
		start := time.Now()
		for range calls {
			if _, err := get(t.Context(), client); err != nil {
				h.failed++
			}
		}
		for _, r := range w.proxy.Seen() {
			h.at = append(h.at, r.At.Sub(start))
		}
		h.tokens = options.tokens(false)
	})
	return h
}

// The SDK's adaptive mode and ours, on the same throttles: the same requests at
// the same times. A time may differ by the rounding of a wait to nanoseconds.
func TestAdaptive(t *testing.T) {
	for name, fault := range map[string]func(n int) faulty.Fault{
		"no throttle": func(int) faulty.Fault { return faulty.Pass },
		"one throttle": func(n int) faulty.Fault {
			if n == 300 {
				return throttle
			}
			return faulty.Pass
		},
		"every 50th": func(n int) faulty.Fault {
			if n%50 == 49 {
				return throttle
			}
			return faulty.Pass
		},
		"bursts": func(n int) faulty.Fault {
			if n%100 < 5 {
				return throttle
			}
			return faulty.Pass
		},
		"throttled from the start": func(n int) faulty.Fault {
			if n < 20 {
				return throttle
			}
			return faulty.Pass
		},
		"mixed": func(n int) faulty.Fault {
			switch n % 40 {
			case 7:
				return internal
			case 20:
				return faulty.Reset
			case 30:
				return throttle
			case 35:
				return faulty.Code(400, "ValidationException")
			}
			return faulty.Pass
		},
	} {
		t.Run(name, func(t *testing.T) {
			const calls = 500
			sdk := series(t, sdkAdaptive, calls, fault)
			for kind, make := range map[string]func(testing.TB, int) clientOptions{
				"Apply":      applied(engine.WithMode(engine.Adaptive)),
				"NewRetryer": droppedIn(engine.WithMode(engine.Adaptive)),
			} {
				h := series(t, make, calls, fault)
				assert.Equal(t, sdk.failed, h.failed, kind)
				assert.Equal(t, sdk.tokens, h.tokens, kind)
				require.Len(t, h.at, len(sdk.at), kind)
				var apart time.Duration
				for i, at := range h.at {
					apart = max(apart, (at - sdk.at[i]).Abs())
				}
				t.Logf("%s: %d requests in %v, %v apart at the most", kind, len(h.at), h.at[len(h.at)-1], apart)
				assert.Less(t, apart, time.Microsecond, kind)
			}
		})
	}
}
