package dynamoretry_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/adapters/awsretry/dynamoretry"
	"github.com/reprise-go/reprise/classify"
)

func TestTransactionCanceled(t *testing.T) {
	for _, row := range []struct {
		reasons []string
		class   classify.Class
	}{
		{[]string{"ProvisionedThroughputExceeded"}, classify.Throttling},
		{[]string{"ThrottlingError"}, classify.Throttling},
		{[]string{"TransactionConflict"}, classify.Transient},
		{[]string{"None", "TransactionConflict", "None"}, classify.Transient},
		{[]string{"TransactionConflict", "ThrottlingError"}, classify.Throttling},
		{[]string{"ThrottlingError", "TransactionConflict"}, classify.Throttling},
		{[]string{"ConditionalCheckFailed"}, classify.NonRetryable},
		{[]string{"ThrottlingError", "ConditionalCheckFailed"}, classify.NonRetryable},
		{[]string{"ConditionalCheckFailed", "TransactionConflict"}, classify.NonRetryable},
		{[]string{"TransactionConflict", "ItemCollectionSizeLimitExceeded"}, classify.NonRetryable},
		{[]string{"TransactionConflict", "ValidationError"}, classify.NonRetryable},
		{[]string{"TransactionConflict", "SomethingNew"}, classify.NonRetryable},
		{[]string{"None", "None"}, classify.NonRetryable},
		{[]string{"nil", "TransactionConflict"}, classify.Transient},
		{nil, classify.NonRetryable},
	} {
		canceled := &types.TransactionCanceledException{}
		for _, code := range row.reasons {
			reason := types.CancellationReason{Code: aws.String(code)}
			if code == "nil" {
				reason.Code = nil
			}
			canceled.CancellationReasons = append(canceled.CancellationReasons, reason)
		}
		class, ok := dynamoretry.TransactionCanceled(fmt.Errorf("operation error: %w", canceled))
		assert.True(t, ok, row.reasons)
		assert.Equal(t, row.class, class, row.reasons)
		assert.Zero(t, testing.AllocsPerRun(10, func() { dynamoretry.TransactionCanceled(canceled) })*notRace)
	}

	for _, err := range []error{nil, errors.New("TransactionCanceledException: [ThrottlingError]"), &types.TransactionConflictException{}, (*types.TransactionCanceledException)(nil)} {
		_, ok := dynamoretry.TransactionCanceled(err)
		assert.False(t, ok, "%T", err)
	}
}

// canceledBy is a transaction cancelled for these reasons.
func canceledBy(codes ...string) error {
	canceled := &types.TransactionCanceledException{}
	for _, code := range codes {
		canceled.CancellationReasons = append(canceled.CancellationReasons, types.CancellationReason{Code: &code})
	}
	return canceled
}
