package main

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
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
		{"SDK adaptive", theirs(aws.RetryModeAdaptive)},
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
