package proof_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry/proof/faulty"
)

// halfDelay is the SDK's own backoff with the middle of each delay in the place of
// its draw, which it takes from crypto/rand and lets nobody choose.
func halfDelay(base time.Duration) retry.BackoffDelayer {
	throttles := retry.IsErrorThrottles(retry.DefaultThrottles)
	return retry.BackoffDelayerFunc(func(attempt int, err error) (time.Duration, error) {
		x := base
		if throttles.IsErrorThrottle(err).Bool() {
			x = time.Second
		}
		return min(x<<(attempt-1), retry.DefaultMaxBackoff) / 2, nil
	})
}

// halfDelay stands for the SDK's backoff: with the draws that the SDK makes, its
// delays fill what halfDelay is the middle of.
func TestHalfDelay(t *testing.T) {
	for _, base := range []time.Duration{25 * time.Millisecond, 50 * time.Millisecond} {
		theirs := retry.NewStandard(func(o *retry.StandardOptions) { o.BaseDelay = base })
		for _, err := range []error{&types.InternalServerError{}, &types.ProvisionedThroughputExceededException{}} {
			for attempt := 1; attempt <= 12; attempt++ {
				middle, _ := halfDelay(base).BackoffDelay(attempt, err)
				var least, most time.Duration = 1 << 62, 0
				for range 2000 {
					d, err := theirs.RetryDelay(attempt, err)
					require.NoError(t, err)
					least, most = min(least, d), max(most, d)
				}
				require.Less(t, most, 2*middle, "base %v attempt %d", base, attempt)
				require.Greater(t, most, 2*middle*98/100, "base %v attempt %d", base, attempt)
				require.Less(t, least, 2*middle*2/100, "base %v attempt %d", base, attempt)
			}
		}
	}
}

// The world works, and the SDK in it waits in virtual time.
func TestWorld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		client := dynamodb.NewFromConfig(w.config(), func(o *dynamodb.Options) {
			o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = 4; o.Backoff = halfDelay(25 * time.Millisecond) })
		})
		w.proxy.Script(faulty.Code(400, "ProvisionedThroughputExceededException"), faulty.HTML(503), faulty.Reset)
		out, err := get(t.Context(), client)
		require.NoError(t, err)
		assert.Equal(t, keyed("1"), out.Item)
		assert.Equal(t, []time.Duration{500 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond}, gaps(w.proxy.Seen()))

		w.proxy.Script(faulty.Half)
		_, err = get(t.Context(), client)
		assert.NoError(t, err)
		assert.Len(t, w.proxy.Seen(), 2)
	})
}
