package dynamoretry_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-go/reprise/adapters/awsretry/dynamoretry"
	"github.com/reprise-go/reprise/engine"
)

// The service takes 40 writes in two requests and leaves one item of each the
// first time.
func ExampleBatchWriteItem() {
	e, err := engine.New(engine.WithService("DynamoDB"), engine.WithMaxAttempts(1))
	if err != nil {
		panic(err)
	}
	var client dynamoretry.Writer = &service{leave: always(1)} // or dynamodb.NewFromConfig(cfg)
	in := writes(map[string]int{"orders": 40})
	for {
		out, err := dynamoretry.BatchWriteItem(context.Background(), client, e, in)
		if err == nil {
			fmt.Println("all written")
			return
		}
		if !errors.Is(err, engine.ErrMaxAttempts) {
			panic(err)
		}
		fmt.Println(len(out.UnprocessedItems["orders"]), "left")
		client = new(service)
		in = &dynamodb.BatchWriteItemInput{RequestItems: out.UnprocessedItems}
	}
	// Output:
	// 2 left
	// all written
}

func ExampleTransactionCanceled() {
	err := canceledBy("None", "TransactionConflict")
	class, ok := dynamoretry.TransactionCanceled(err)
	fmt.Println(class, ok)
	// Output: transient true
}
