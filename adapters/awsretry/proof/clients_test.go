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
)

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
	{"standard", sdkStandard},
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
		retryer: func(sqs bool) aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.RateLimiter = quota
				o.MaxAttempts, o.Backoff = 4, halfDelay(25*time.Millisecond)
				if sqs {
					o.MaxAttempts, o.Backoff = 3, halfDelay(50*time.Millisecond)
				}
			})
		},
		tokens: func(bool) int { return int(quota.Remaining()) },
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
