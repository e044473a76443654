package httpretry_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// R5, peer faults 107, 110 and 112: which header counts, on which answers, and
// that it never adds more than 5 s and makes nothing retryable.
func TestHints(t *testing.T) {
	const t0 = 50*ms - near
	for _, row := range []struct {
		name     string
		status   int
		header   []string
		standard bool
		delay    time.Duration // 0: not retried
	}{
		{"milliseconds", 500, []string{"x-amz-retry-after", "1500"}, false, 1500 * ms},
		{"below the backoff", 500, []string{"x-amz-retry-after", "10"}, false, t0},
		{"above the window", 500, []string{"x-amz-retry-after", "60000"}, false, t0 + 5*time.Second},
		{"107: too large for any integer", 500, []string{"x-amz-retry-after", "9223372036854775808000"}, false, t0 + 5*time.Second},
		{"no number", 500, []string{"x-amz-retry-after", "1.5"}, false, t0},
		{"on a 503", 503, []string{"x-amz-retry-after", "1500"}, false, 1500 * ms},
		{"on a 429", 429, []string{"x-amz-retry-after", "1500"}, false, 1500 * ms},
		{"112: a 413 is not retried", 413, []string{"x-amz-retry-after", "1500"}, true, 0},
		{"112: a 301 is not retried", 301, []string{"retry-after", "1"}, true, 0},
		{"112: a 404 is not retried", 404, []string{"retry-after", "1"}, true, 0},
		{"Retry-After is an option", 503, []string{"Retry-After", "2"}, false, t0},
		{"Retry-After in seconds", 503, []string{"Retry-After", "2"}, true, 2 * time.Second},
		{"Retry-After as a date", 503, []string{"Retry-After", "Sat, 01 Jan 2000 00:00:03 GMT"}, true, 3 * time.Second},
		{"106: a date gone by", 503, []string{"Retry-After", "Fri, 31 Dec 1999 00:00:00 GMT"}, true, t0},
		{"110: in four years", 503, []string{"Retry-After", "126230400"}, true, t0 + 5*time.Second},
		{"milliseconds win", 503, []string{"Retry-After", "4", "x-amz-retry-after", "1500"}, true, 1500 * ms},
		{"unless they ask for nothing", 503, []string{"Retry-After", "4", "x-amz-retry-after", "soon"}, true, 4 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := answers(func(n int) *http.Response {
					if n == 1 {
						return response(row.status, "", row.header...)
					}
					return response(200, "")
				})
				opts := []httpretry.Option{httpretry.WithBase(b)}
				if row.standard {
					opts = append(opts, httpretry.WithStandardRetryAfter())
				}
				start := time.Now()
				_, err := newTransport(t, newEngine(t), opts...).RoundTrip(get(t, t.Context()))
				require.NoError(t, err)
				if row.delay == 0 {
					assert.Len(t, b.sent, 1)
				} else {
					assert.Equal(t, row.delay, b.sent[1].at.Sub(start))
				}
			})
		})
	}
}

// Peer fault 109: the server's delay is a floor; jitter only adds.
func TestHintIsAFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithSource(new(fastbackoff.Shards)), engine.WithQuota(engine.Quota{Capacity: 1 << 20}))
		for range 500 {
			b := answers(func(n int) *http.Response {
				if n == 1 {
					return response(429, "", "X-Amz-Retry-After", "700")
				}
				return response(200, "")
			})
			start := time.Now()
			_, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(get(t, t.Context()))
			require.NoError(t, err)
			require.GreaterOrEqual(t, time.Since(start), 700*ms)
			require.Less(t, time.Since(start), time.Second)
		}
	})
}

// Peer faults 88 and 91: a delay that does not end before the deadline is not
// begun. The answer comes back at once and whole, so the caller can see when the
// server wants it back; no tokens are taken.
func TestHintBeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		e := newEngine(t)
		b := answers(func(int) *http.Response { return response(429, "try tomorrow", "Retry-After", "86400") })
		start := time.Now()
		resp, err := newTransport(t, e, httpretry.WithBase(b), httpretry.WithStandardRetryAfter()).RoundTrip(get(t, ctx))
		require.NoError(t, err)
		assert.Zero(t, time.Since(start))
		assert.Equal(t, "86400", resp.Header.Get("Retry-After"))
		assert.Equal(t, "try tomorrow", readAll(t, resp))
		r, ok := httpretry.ResultOf(resp)
		require.True(t, ok)
		assert.Equal(t, engine.ReasonDeadline, r.Reason)
		assert.Equal(t, 1, r.Attempts)
		assert.Equal(t, 500, level(e))
	})
}
