package proof_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/engine"
)

// half draws the middle of each delay.
type half struct{}

func (half) Uint64() uint64 { return 1 << 63 }

// ours is an engine that draws so, and starts with so many tokens.
func ours(t testing.TB, tokens int, opts ...engine.Option) *engine.Engine {
	t.Helper()
	opts = append(opts, engine.WithSource(half{}))
	if tokens > 0 {
		opts = append(opts, engine.WithTokens(tokens))
	}
	e, err := engine.New(opts...)
	require.NoError(t, err)
	return e
}

// applied is the engine's loop; opts are the engine's.
func applied(opts ...engine.Option) func(testing.TB, int) clientOptions {
	return func(t testing.TB, tokens int) clientOptions {
		e := ours(t, tokens, opts...)
		return clientOptions{
			config: func(cfg *aws.Config) { require.NoError(t, awsretry.Apply(cfg, e, awsretry.WithSharedEngine())) },
			tokens: func(bool) int { return e.Stats().QuotaLevel },
		}
	}
}

// droppedIn is the Retryer alone.
func droppedIn(opts ...engine.Option) func(testing.TB, int) clientOptions {
	return func(t testing.TB, tokens int) clientOptions {
		general := ours(t, tokens, opts...)
		dynamo, err := general.Derive(engine.WithService("DynamoDB"))
		require.NoError(t, err)
		return clientOptions{
			retryer: func(sqs bool) aws.Retryer {
				e := dynamo
				if sqs {
					e = general
				}
				r, err := awsretry.NewRetryer(e)
				require.NoError(t, err)
				return r
			},
			tokens: func(bool) int { return general.Stats().QuotaLevel },
		}
	}
}

// clientOptions is what makes a client retry by one policy.
type clientOptions struct {
	config  func(*aws.Config)          // or
	retryer func(sqs bool) aws.Retryer // set on the client
	keep    func(*middleware.Stack) error
	tokens  func(sqs bool) int
}

func (o clientOptions) dynamo(w *world) *dynamodb.Client {
	return dynamodb.NewFromConfig(o.configured(w), func(c *dynamodb.Options) {
		c.APIOptions = append(c.APIOptions, o.keep)
		if o.retryer != nil {
			c.Retryer = o.retryer(false)
		}
	})
}

func (o clientOptions) sqs(w *world) *sqs.Client {
	return sqs.NewFromConfig(o.configured(w), func(c *sqs.Options) {
		c.APIOptions = append(c.APIOptions, o.keep)
		if o.retryer != nil {
			c.Retryer = o.retryer(true)
		}
	})
}

func (o clientOptions) configured(w *world) aws.Config {
	cfg := w.config()
	if o.config != nil {
		o.config(&cfg)
	}
	return cfg
}

// clientKinds are the clients under test: how each is made with so many tokens.
// The first is what the others are held to.
var clientKinds = []struct {
	name string
	make func(t testing.TB, tokens int) clientOptions
}{
	{"SDK", sdkStandard},
	{"Apply", applied()},
	{"NewRetryer", droppedIn()},
}

// sdkStandard is the SDK as it is, but for its draws.
func sdkStandard(_ testing.TB, tokens int) clientOptions {
	quota := ratelimit.NewTokenRateLimit(500)
	if tokens > 0 {
		if _, err := quota.GetToken(context.Background(), uint(500-tokens)); err != nil {
			panic(err)
		}
	}
	return clientOptions{
		retryer: func(sqs bool) aws.Retryer { return retry.NewStandard(standardOptions(quota, sqs)) },
		tokens:  func(bool) int { return int(quota.Remaining()) },
	}
}

// sdkAdaptive is the SDK's adaptive mode, but for its draws.
func sdkAdaptive(testing.TB, int) clientOptions {
	quota := ratelimit.NewTokenRateLimit(500)
	return clientOptions{
		retryer: func(sqs bool) aws.Retryer {
			return unstuck{retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
				o.StandardOptions = append(o.StandardOptions, standardOptions(quota, sqs))
			})}
		},
		tokens: func(bool) int { return int(quota.Remaining()) },
	}
}

// unstuck lets virtual time pass while the SDK waits for its limiter. Its waits are
// cut to whole nanoseconds, so at the end of one it waits for 0 ns until time has
// gone by, which on a clock that stands still meanwhile is for ever.
type unstuck struct{ *retry.AdaptiveMode }

func (u unstuck) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	return u.AdaptiveMode.GetAttemptToken(ticking{ctx})
}

// ticking is a context that takes a nanosecond to say when it is done.
type ticking struct{ context.Context }

func (c ticking) Done() <-chan struct{} {
	<-time.After(time.Nanosecond)
	return c.Context.Done()
}

// standardOptions are the defaults of the services, with half of each delay.
func standardOptions(quota retry.RateLimiter, sqs bool) func(*retry.StandardOptions) {
	return func(o *retry.StandardOptions) {
		o.RateLimiter = quota
		o.MaxAttempts, o.Backoff = 4, halfDelay(25*time.Millisecond)
		if sqs {
			o.MaxAttempts, o.Backoff = 3, halfDelay(50*time.Millisecond)
		}
	}
}

func getItem(ctx context.Context, w *world, o clientOptions) error {
	_, err := get(ctx, o.dynamo(w))
	return err
}

// getItemTwice asks for two attempts, as a call may of its own.
func getItemTwice(ctx context.Context, w *world, o clientOptions) error {
	_, err := get(ctx, o.dynamo(w), func(c *dynamodb.Options) { c.RetryMaxAttempts = 2 })
	return err
}

func putItem(ctx context.Context, w *world, o clientOptions) error {
	_, err := o.dynamo(w).PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("t"), Item: keyed("2")})
	return err
}

func receiveMessage(ctx context.Context, w *world, o clientOptions) error {
	_, err := o.sqs(w).ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: aws.String("http://sqs.test/1/q"), WaitTimeSeconds: 20})
	return err
}

func sendMessage(ctx context.Context, w *world, o clientOptions) error {
	_, err := o.sqs(w).SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: aws.String("http://sqs.test/1/q"), MessageBody: aws.String("m")})
	return err
}
