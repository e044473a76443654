package differential_test

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/ratelimit"
)

// theirLimiter reads the SDK's limiter, which nobody may name. Reflection gives
// the values of fields that are not exported, and refuses to set them.
type theirLimiter struct{ enabled, fill, measured, level, capacity reflect.Value }

func limiterOf(a *retry.AdaptiveMode) *theirLimiter {
	l := reflect.ValueOf(a).Elem().FieldByName("rateLimit").Elem()
	bucket := l.FieldByName("tokenBucket").Elem()
	return &theirLimiter{
		enabled:  l.FieldByName("tokenBucketEnabled"),
		fill:     l.FieldByName("fillRate"),
		measured: l.FieldByName("measuredTxRate"),
		level:    bucket.FieldByName("remainingTokens"),
		capacity: bucket.FieldByName("maxCapacity"),
	}
}

// tick is a context that takes a nanosecond to say when it is done. The SDK cuts
// its waits to whole nanoseconds, so at the end of one it asks again and again
// until time has gone by, which in a bubble it does not meanwhile.
type tick struct{ context.Context }

func (c tick) Done() <-chan struct{} {
	pass(time.Nanosecond)
	return c.Context.Done()
}

// border is how the SDK sees the half seconds of R8.4: as float64 seconds since
// 1970, whose nanoseconds come in steps of 128 and 256, so that the last few of a
// half second belong to the next.
const border = 256 * time.Nanosecond

// offBorder waits for a half second that is about to begin: an answer in its last
// nanoseconds counts in another one for the SDK. It is too rare to be met by
// chance and parts the limiters for good, so it is shown by itself, below.
func (p *pair) offBorder() {
	if p.limiter != nil {
		const half = int64(500 * ms)
		if left := half - time.Now().UnixNano()%half; left <= int64(border) {
			pass(time.Duration(left))
		}
	}
}

// A difference of its own: R8.4's half seconds end when they end.
func TestBorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := retry.NewAdaptiveMode()
		theirs, ours := limiterOf(a), ratelimit.New(time.Now())
		pass(500*ms - 50*time.Nanosecond)
		release, err := a.GetAttemptToken(t.Context())
		require.NoError(t, err)
		require.NoError(t, release(nil))
		ours.UpdateAt(time.Now(), false)
		assert.InDelta(t, 1.6, theirs.measured.Float(), 1e-9, "one answer in half a second, in what SDK takes for the next")
		assert.Zero(t, ours.SnapshotAt(time.Now()).MeasuredRate)
	})
}
