package main

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/engine"
)

// client is one of those compared.
type client struct {
	name string
	make func(aws.Config) (*dynamodb.Client, error)
}

// clients are the SDK's two modes and ours, the last one coalescing throttles
// within window.
func clients(window time.Duration) []client {
	adaptive := engine.WithMode(engine.Adaptive)
	return []client{
		{"SDK standard", theirs(aws.RetryModeStandard)},
		{"standard", ours()},
		{"SDK adaptive", unstuck(theirs(aws.RetryModeAdaptive))},
		{"adaptive", ours(adaptive)},
		{"adaptive, coalescing", ours(adaptive, engine.WithThrottleCoalescing(window))},
	}
}

// theirs is a client that the SDK retries for.
func theirs(mode aws.RetryMode) func(aws.Config) (*dynamodb.Client, error) {
	return func(cfg aws.Config) (*dynamodb.Client, error) {
		cfg.RetryMode = mode
		return dynamodb.NewFromConfig(cfg), nil
	}
}

// unstuck lets time pass while the SDK waits for its limiter. Its waits are cut to
// whole nanoseconds, so at the end of one it waits for 0 ns until time has gone by,
// which in the virtual time of testing/synctest it does not meanwhile.
func unstuck(make func(aws.Config) (*dynamodb.Client, error)) func(aws.Config) (*dynamodb.Client, error) {
	return func(cfg aws.Config) (*dynamodb.Client, error) {
		client, err := make(cfg)
		if err != nil {
			return nil, err
		}
		return dynamodb.New(client.Options(), func(o *dynamodb.Options) {
			o.Retryer = ticking{o.Retryer.(*retry.AdaptiveMode)}
		}), nil
	}
}

type ticking struct{ *retry.AdaptiveMode }

func (r ticking) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	return r.AdaptiveMode.GetAttemptToken(tick{ctx})
}

// tick is a context that takes a nanosecond to say when it is done.
type tick struct{ context.Context }

func (c tick) Done() <-chan struct{} {
	time.Sleep(time.Nanosecond)
	return c.Context.Done()
}

// ours is a client behind an engine.
func ours(opts ...engine.Option) func(aws.Config) (*dynamodb.Client, error) {
	return func(cfg aws.Config) (*dynamodb.Client, error) {
		e, err := engine.New(opts...)
		if err != nil {
			return nil, err
		}
		if err := awsretry.Apply(&cfg, e); err != nil {
			return nil, err
		}
		return dynamodb.NewFromConfig(cfg), nil
	}
}
