package differential_test

import (
	"context"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
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
	time.Sleep(time.Nanosecond)
	return c.Context.Done()
}
