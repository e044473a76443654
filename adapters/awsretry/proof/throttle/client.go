package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"time"
)

// client is one of those compared.
type client struct {
	name string
	make func(aws.Config) (*dynamodb.Client, error)
}

// clients are the SDK's two modes and ours, coalescing throttles within window.
func clients(window time.Duration) []client {
	return []client{
		{"SDK standard", theirs(aws.RetryModeStandard)},
		{"SDK adaptive", theirs(aws.RetryModeAdaptive)},
	}
}

func theirs(mode aws.RetryMode) func(aws.Config) (*dynamodb.Client, error) {
	return func(cfg aws.Config) (*dynamodb.Client, error) {
		cfg.RetryMode = mode
		return dynamodb.NewFromConfig(cfg), nil
	}
}
