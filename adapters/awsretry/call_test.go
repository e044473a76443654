package awsretry_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// doors are the two ways in, each over an engine that the calls pay from.
var doors = []struct {
	name   string
	config func(t testing.TB, s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config
}{
	{"Apply", func(t testing.TB, s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config {
		return applied(t, s, e, append(opts, awsretry.WithSharedEngine())...)
	}},
	{"NewRetryer", func(t testing.TB, s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config {
		r, err := awsretry.NewRetryer(e, opts...)
		require.NoError(t, err)
		return aws0(s, r)
	}},
}

// inEachDoor runs a test in a bubble for each door.
func inEachDoor(t *testing.T, test func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config)) {
	for _, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test(t, func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config {
					return door.config(t, s, e, opts...)
				})
			})
		})
	}
}

// No sleep past the deadline: the call ends at once, with the service's error,
// what the SDK would have said later, and the tokens untouched.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{script: []answer{fail(503, "x"), after(fail(503, "Busy"), "4000")}}
		e := newEngine(t, engine.WithSource(fastbackoff.Fixed(0.5)), engine.WithTokens(100))
		c := newClient(applied(t, s, e, awsretry.WithSharedEngine()), "S3")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, metadata, err := c.call(ctx, "GetObject", &input{})
		assert.Equal(t, 25*time.Millisecond, time.Since(start))
		assert.Equal(t, 86, e.Stats().QuotaLevel)
		var own *engine.Error
		require.ErrorAs(t, err, &own)
		assert.Equal(t, engine.ReasonDeadline, own.Reason)
		assert.Equal(t, 2, own.Attempts)
		require.ErrorIs(t, err, engine.ErrDeadline)
		assert.Equal(t, []string{"OperationError", "APIError Busy", "ResponseError 503", "RequestCanceledError", "CanceledError", "context.DeadlineExceeded"}, types(err))
		assert.Len(t, results(metadata), 2)
	})
}

// Adaptive mode: a call whose turn would not come before its deadline is not
// sent, and says so (R8.1).
func TestNotAdmitted(t *testing.T) {
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		e := newEngine(t, engine.WithMode(engine.Adaptive), engine.WithMaxAttempts(1))
		s := &server{script: []answer{fail(400, "Throttling"), fail(400, "Throttling"), fail(400, "Throttling")}}
		c := newClient(config(s, e), "S3")
		for range 3 {
			_, _, err := c.call(t.Context(), "GetObject", &input{})
			require.Error(t, err)
		}
		sent := len(s.seen())
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, _, err := c.call(ctx, "GetObject", &input{})
		require.ErrorIs(t, err, engine.ErrDeadline)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Zero(t, time.Since(start))
		assert.Len(t, s.seen(), sent)
		var own *engine.Error
		require.ErrorAs(t, err, &own)
		assert.Zero(t, own.Attempts)
		assert.Positive(t, own.Wait)
	})
}

// R8.3, peer fault 64: a failure that the service has no part in is no sample, one
// on the way to it is.
func TestLocalFailuresAreNoSamples(t *testing.T) {
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		for errno, sample := range map[syscall.Errno]bool{syscall.EMFILE: false, syscall.ECONNREFUSED: true} {
			broken := answer{err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", errno)}}
			s := &server{script: []answer{broken, broken, broken, broken, broken}}
			e := newEngine(t, engine.WithMode(engine.Adaptive), engine.WithMaxAttempts(1))
			c := newClient(config(s, e), "S3")
			for range 5 {
				_, _, err := c.call(t.Context(), "GetObject", &input{})
				require.ErrorIs(t, err, errno)
				<-time.After(time.Second)
			}
			assert.Equal(t, sample, e.Stats().Limiter.MeasuredRate > 0, "%v", errno)
		}
	})
}

// A context that is done before the call: as with the SDK's own loop, nothing is
// sent and the context's error comes back.
func TestDoneBeforeTheCall(t *testing.T) {
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		s := &server{}
		e := newEngine(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err := newClient(config(s, e), "S3").call(ctx, "GetObject", &input{})
		require.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, s.seen())
		assert.Zero(t, e.Stats().Stops[engine.ReasonCancelled])
	})
}

// Cancelled in flight: the SDK's CanceledError, at once, and no retry (R3.6).
func TestCancelledInFlight(t *testing.T) {
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		s := &server{latency: time.Hour}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, _, err := newClient(config(s, newEngine(t)), "S3").call(ctx, "GetObject", &input{})
		assert.Equal(t, time.Second, time.Since(start))
		var cancelled *smithy.CanceledError
		require.ErrorAs(t, err, &cancelled)
		var sleeping *aws.RequestCanceledError
		assert.False(t, errors.As(err, &sleeping))
		assert.Len(t, s.seen(), 1)
	})
}

func TestWithClass(t *testing.T) {
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		class := awsretry.WithClass(func(err error) (classify.Class, bool) {
			var api smithy.APIError
			if errors.As(err, &api) && api.ErrorCode() == "TransactionCanceledException" {
				return classify.Throttling, true
			}
			return classify.NonRetryable, errors.As(err, &api) && api.ErrorCode() == "SlowDown"
		})
		s := &server{script: []answer{fail(400, "TransactionCanceledException"), fail(503, "SlowDown")}}
		e := newEngine(t, engine.WithSource(fastbackoff.Fixed(0.5)), engine.WithTokens(100))
		start := time.Now()
		_, _, err := newClient(config(s, e, class), "DynamoDB").call(t.Context(), "TransactWriteItems", &input{})
		assert.Equal(t, 500*time.Millisecond, time.Since(start))
		var api smithy.APIError
		require.ErrorAs(t, err, &api)
		assert.Equal(t, "SlowDown", api.ErrorCode())
		assert.Equal(t, 95, e.Stats().QuotaLevel)
	})
}

// WithClass is asked about answers, not about callers who went away, and what is
// no class does not count.
func TestWithClassIsAsked(t *testing.T) {
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		asked := 0
		class := awsretry.WithClass(func(error) (classify.Class, bool) {
			asked++
			return classify.Class(99), true
		})
		s := &server{script: []answer{fail(503, "x")}}
		c := newClient(config(s, newEngine(t), class), "S3")
		_, _, err := c.call(t.Context(), "GetObject", &input{})
		require.NoError(t, err)
		assert.Len(t, s.seen(), 2)
		require.Positive(t, asked)

		asked, s.latency = 0, time.Minute
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, _, err = c.call(ctx, "GetObject", &input{})
		require.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, asked)
	})
	synctest.Test(t, func(t *testing.T) {
		class := awsretry.WithClass(func(err error) (classify.Class, bool) {
			assert.Fail(t, "asked", "%v", err)
			return classify.Transient, true
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := newClient(applied(t, &server{latency: time.Minute}, newEngine(t), class), "S3").call(ctx, "GetObject", &input{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// A call that is made inside of an attempt of another, as a credentials provider
// makes one, is a call of its own.
func TestCallInsideOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, inner := &server{script: []answer{fail(503, "x")}}, &server{script: []answer{fail(503, "x"), fail(503, "x")}}
		e := newEngine(t)
		within := newClient(applied(t, inner, e), "STS")
		cfg := applied(t, outer, e)
		var made atomic.Int32
		c := newClient(cfg, "S3", func(o *options) {
			o.apiOptions = append(o.apiOptions, func(stack *middleware.Stack) error {
				return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("Identity", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
					middleware.FinalizeOutput, middleware.Metadata, error,
				) {
					if made.Add(1) == 1 {
						_, _, err := within.call(ctx, "AssumeRole", &input{})
						assert.NoError(t, err)
					}
					return next.HandleFinalize(ctx, in)
				}), "Signing", middleware.Before)
			})
		})
		_, _, err := c.call(t.Context(), "GetObject", &input{})
		require.NoError(t, err)
		assert.Equal(t, []string{"attempt=1; max=3", "attempt=2; max=3"}, outer.headers("Amz-Sdk-Request"))
		assert.Equal(t, []string{"attempt=1; max=3", "attempt=2; max=3", "attempt=3; max=3"}, inner.headers("Amz-Sdk-Request"))
	})
}

// A panic in an attempt goes on unchanged and ends the call; the retry it
// happened in keeps its cost.
func TestPanicInAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithTokens(100))
		s := &server{script: []answer{fail(503, "x"), {panics: "out"}}}
		c := newClient(applied(t, s, e, awsretry.WithSharedEngine()), "S3")
		assert.PanicsWithValue(t, "out", func() { _, _, _ = c.call(t.Context(), "GetObject", &input{}) })
		assert.Equal(t, 86, e.Stats().QuotaLevel)
		assert.EqualValues(t, 1, e.Stats().Stops[engine.ReasonCancelled])
	})
}

// The SDK's loop is not used where it is not there, as in presigned requests.
func TestStackWithoutARetryLoop(t *testing.T) {
	s := &server{script: []answer{fail(503, "x")}}
	c := newClient(applied(t, s, newEngine(t)), "S3", func(o *options) { o.noLoop = true })
	_, metadata, err := c.call(t.Context(), "GetObject", &input{})
	require.Error(t, err)
	_, ok := retry.GetAttemptResults(metadata)
	assert.False(t, ok)
	assert.Len(t, s.seen(), 1)
	assert.Empty(t, s.headers("Amz-Sdk-Request")[0])
}

// Service modules that are older than the SDK's core set the header once more.
func TestOlderServiceModule(t *testing.T) {
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		s := &server{script: []answer{fail(503, "x")}}
		_, _, err := newClient(config(s, newEngine(t)), "S3", func(o *options) { o.oldHeader = true }).call(t.Context(), "GetObject", &input{})
		require.NoError(t, err)
		assert.Equal(t, []string{"attempt=1; max=3", "attempt=2; max=3"}, s.headers("Amz-Sdk-Request"))
	})
}

// R3.6: an attempt's own deadline, which a middleware may set, is transient while
// the caller is there. The SDK takes it for the caller's.
func TestAttemptsOwnDeadline(t *testing.T) {
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		s := &server{latency: time.Minute}
		c := newClient(config(s, newEngine(t)), "S3", func(o *options) {
			o.apiOptions = append(o.apiOptions, func(stack *middleware.Stack) error {
				return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("Timeout", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
					middleware.FinalizeOutput, middleware.Metadata, error,
				) {
					ctx, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					return next.HandleFinalize(ctx, in)
				}), "Signing", middleware.Before)
			})
		})
		_, _, err := c.call(t.Context(), "GetObject", &input{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Len(t, s.seen(), 3)
	})
}

// A middleware of somebody else's that fails between the loop and a retry: its
// error comes back, and the retry's tokens do (R6.3).
func TestFailureBeforeARetryIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{script: []answer{fail(503, "x")}}
		e := newEngine(t, engine.WithTokens(100))
		broken := errors.New("broken")
		runs := 0
		c := newClient(applied(t, s, e, awsretry.WithSharedEngine()), "S3", func(o *options) {
			o.apiOptions = append(o.apiOptions, func(stack *middleware.Stack) error {
				return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("Between", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
					out middleware.FinalizeOutput, metadata middleware.Metadata, err error,
				) {
					if runs++; runs == 2 {
						return out, metadata, broken
					}
					return next.HandleFinalize(ctx, in)
				}), "Retry", middleware.Before)
			})
		})
		_, _, err := c.call(t.Context(), "GetObject", &input{})
		require.ErrorIs(t, err, broken)
		assert.Equal(t, 100, e.Stats().QuotaLevel)
		assert.EqualValues(t, 1, e.Stats().UnsentRetries)
		assert.Len(t, s.seen(), 1)
	})
}

// With NewRetryer a retry that cannot fit before the deadline is not paid for
// either, as far as the draw that decides can tell.
func TestRetryersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{script: []answer{fail(400, "ThrottlingException")}}
		e := newEngine(t, engine.WithSource(fastbackoff.Fixed(0.5)))
		r, err := awsretry.NewRetryer(e)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, _, err = newClient(aws0(s, r), "S3").call(ctx, "GetObject", &input{})
		assert.Equal(t, []string{"OperationError", "APIError ThrottlingException", "ResponseError 400", "RequestCanceledError", "CanceledError", "context.DeadlineExceeded"}, types(err))
		require.ErrorIs(t, err, engine.ErrDeadline)
		assert.Zero(t, time.Since(start))
		assert.Equal(t, 500, e.Stats().QuotaLevel)
	})
}

// Attempts that a Reconfigure raises while a failure is being looked at: either
// setting may count, and a body that can be sent again is not told to be none.
func TestAttemptsRaisedMeanwhile(t *testing.T) {
	for nth := range 8 {
		synctest.Test(t, func(t *testing.T) {
			e := newEngine(t, engine.WithMaxAttempts(1))
			s := &server{script: []answer{fail(503, "x")}}
			ctx := &watched{Context: t.Context()}
			ctx.asked = func() {
				if len(s.seen()) > 0 {
					if ctx.times++; ctx.times == nth {
						require.NoError(t, e.Reconfigure(engine.WithMaxAttempts(2)))
					}
				}
			}
			c := newClient(applied(t, s, e, awsretry.WithSharedEngine()), "S3")
			_, _, err := c.call(ctx, "PutObject", &input{}, func(o *options) { o.body = strings.NewReader("body") })
			if err != nil {
				require.ErrorIs(t, err, engine.ErrMaxAttempts, nth)
				return
			}
			require.Len(t, s.seen(), 2)
			assert.Equal(t, "body", s.seen()[1].body)
		})
	}
}

// watched is a context that tells when it is asked whether it is done.
type watched struct {
	context.Context
	asked func()
	times int
}

func (w *watched) Err() error {
	w.asked()
	return w.Context.Err()
}
