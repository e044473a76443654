package awsretry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// newClient stands for dynamodb.NewFromConfig and its like.
func Example() {
	cfg := aws.Config{Region: "eu-west-1", RetryMode: aws.RetryModeStandard} // config.LoadDefaultConfig(ctx)
	cfg.HTTPClient = &server{script: []answer{fail(503, "x"), fail(503, "x"), fail(503, "x")}}

	e, err := awsretry.LoadEngine(context.Background(), cfg)
	if err != nil {
		panic(err)
	}
	if err := awsretry.Apply(&cfg, e); err != nil {
		panic(err)
	}
	out, _, err := newClient(cfg, "DynamoDB").call(context.Background(), "GetItem", nil)
	fmt.Println(out, err)
	// Output: ok <nil>
}

// A call with 50 ms to live does not wait for what it cannot use: the service's
// error comes back at once.
func ExampleApply() {
	e, _ := engine.New(engine.WithSource(fastbackoff.Fixed(0.5)))
	cfg := aws.Config{Region: "eu-west-1", HTTPClient: &server{script: []answer{fail(400, "ThrottlingException")}}}
	if err := awsretry.Apply(&cfg, e); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, _, err := newClient(cfg, "DynamoDB").call(ctx, "GetItem", nil)

	var api smithy.APIError
	fmt.Println(errors.As(err, &api), api.ErrorCode(), errors.Is(err, engine.ErrDeadline), ctx.Err())
	engines, _ := awsretry.EnginesOf(cfg.Retryer())
	for key, e := range engines.All() {
		fmt.Println(key.Service, key.Region, e.MaxAttempts(), "attempts,", e.Stats().QuotaLevel, "tokens")
	}
	// Output:
	// true ThrottlingException true <nil>
	// DynamoDB eu-west-1 4 attempts, 500 tokens
}

func ExampleNewRetryer() {
	e, _ := engine.New(engine.WithService("SQS"))
	r, err := awsretry.NewRetryer(e)
	if err != nil {
		panic(err)
	}
	cfg := aws.Config{Retryer: func() aws.Retryer { return r }}
	cfg.HTTPClient = &server{script: []answer{fail(500, "x")}}
	out, _, err := newClient(cfg, "SQS").call(context.Background(), "SendMessage", nil)
	fmt.Println(out, err)
	// Output: ok <nil>
}

// One hot table does not use up the retries of the others.
func ExamplePerTable() {
	e, _ := engine.New(engine.WithSource(fastbackoff.Fixed(0)), engine.WithQuota(engine.Quota{Capacity: 20}))
	cfg := aws.Config{Region: "eu-west-1", HTTPClient: &server{script: []answer{
		fail(400, "ThrottlingException"), fail(400, "ThrottlingException"), fail(400, "ThrottlingException"), fail(400, "ThrottlingException"),
	}}}
	if err := awsretry.Apply(&cfg, e, awsretry.PerTable()); err != nil {
		panic(err)
	}
	client := newClient(cfg, "DynamoDB")
	for _, table := range []string{"hot", "cold"} {
		_, _, err := client.call(context.Background(), "GetItem", &input{TableName: &table})
		engines, _ := awsretry.EnginesOf(cfg.Retryer())
		key := awsretry.Key{Service: "DynamoDB", Region: "eu-west-1", Name: table}
		fmt.Println(table, err == nil, engines.For(key).Stats().QuotaLevel)
	}
	// Output:
	// hot false 5
	// cold true 20
}
