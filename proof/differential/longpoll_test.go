package differential_test

import (
	"context"
	"errors"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
)

// longPolling is a context in which the SDK's loop takes a call for a long poll.
// Its key is not exported; a client of SQS sets it for ReceiveMessage, and this is
// what that client hands on.
var longPolling = sync.OnceValue(func() (polling context.Context) {
	keep := middleware.InitializeMiddlewareFunc("keep", func(ctx context.Context, _ middleware.InitializeInput, _ middleware.InitializeHandler) (
		out middleware.InitializeOutput, metadata middleware.Metadata, err error,
	) {
		polling = ctx
		return out, metadata, errors.New("kept")
	})
	client := sqs.New(sqs.Options{Region: "us-east-1", APIOptions: []func(*middleware.Stack) error{func(stack *middleware.Stack) error {
		return stack.Initialize.Add(keep, middleware.After)
	}}})
	_, err := client.ReceiveMessage(context.Background(), &sqs.ReceiveMessageInput{QueueUrl: aws.String("https://service.example/queue")})
	if polling == nil {
		panic(err)
	}
	return polling
})
