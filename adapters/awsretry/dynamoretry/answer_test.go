package dynamoretry_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry/dynamoretry"
	"github.com/reprise-go/reprise/engine"
)

// broken answers what no service should.
type broken struct{ unprocessed int }

func (b broken) BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	if b.unprocessed == 0 {
		return nil, nil
	}
	return &dynamodb.BatchWriteItemOutput{UnprocessedItems: writes(map[string]int{"a": b.unprocessed}).RequestItems}, nil
}

func TestBrokenService(t *testing.T) {
	in := writes(map[string]int{"a": 2})
	out, err := dynamoretry.BatchWriteItem(t.Context(), broken{}, dynamo(t), in)
	require.ErrorContains(t, err, "neither an output nor an error")
	assert.Equal(t, in.RequestItems, out.UnprocessedItems)

	for _, n := range []int{3, 26} {
		out, err = dynamoretry.BatchWriteItem(t.Context(), broken{n}, dynamo(t), in)
		require.ErrorContains(t, err, fmt.Sprintf("left %d items unprocessed of the 2 that it was sent", n))
		assert.Equal(t, in.RequestItems, out.UnprocessedItems)
	}
}

// tagged answers with metadata.
type tagged struct{ requests int }

func (s *tagged) BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	s.requests++
	out := new(dynamodb.BatchWriteItemOutput)
	out.ResultMetadata.Set(tagged{}, s.requests)
	return out, nil
}

func (s *tagged) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	s.requests++
	out := new(dynamodb.BatchGetItemOutput)
	out.ResultMetadata.Set(tagged{}, s.requests)
	return out, nil
}

// The metadata are those of the last request.
func TestMetadata(t *testing.T) {
	wrote, err := dynamoretry.BatchWriteItem(t.Context(), new(tagged), dynamo(t), writes(map[string]int{"a": 26}))
	require.NoError(t, err)
	assert.Equal(t, 2, wrote.ResultMetadata.Get(tagged{}))
	got, err := dynamoretry.BatchGetItem(t.Context(), new(tagged), dynamo(t), keys(map[string]int{"a": 101}))
	require.NoError(t, err)
	assert.Equal(t, 2, got.ResultMetadata.Get(tagged{}))
}

// renames answers for a table by another name, as for one that was asked for by
// its ARN.
type renames struct {
	asked []map[string]types.KeysAndAttributes
}

func (r *renames) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	r.asked = append(r.asked, in.RequestItems)
	out := new(dynamodb.BatchGetItemOutput)
	if len(r.asked) == 1 {
		out.UnprocessedKeys = map[string]types.KeysAndAttributes{"a": in.RequestItems["arn:a"]}
	}
	return out, nil
}

// The settings of a table are kept under whatever name the service calls it by.
func TestReadRestUnderAnotherName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, attempts := range []int{1, 2} {
			in := keys(map[string]int{"arn:a": 3})
			r := new(renames)
			out, err := dynamoretry.BatchGetItem(t.Context(), r, dynamo(t, engine.WithMaxAttempts(attempts)), in)
			if attempts == 1 {
				require.ErrorIs(t, err, engine.ErrMaxAttempts)
				assert.Equal(t, map[string]types.KeysAndAttributes{"a": in.RequestItems["arn:a"]}, out.UnprocessedKeys)
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, map[string]types.KeysAndAttributes{"a": in.RequestItems["arn:a"]}, r.asked[1])
		}
	})
}
