package proof_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/truora/minidyn/server"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/adapters/awsretry/dynamoretry"
	"github.com/reprise-go/reprise/adapters/awsretry/proof/faulty"
	"github.com/reprise-go/reprise/engine"
)

// batches is a world whose service leaves what leave says of a table's n-th item
// in a request, and a client and an engine in it that pay from one quota.
func batches(t *testing.T, leave func(n int) bool) (*world, *dynamodb.Client, *engine.Engine) {
	emulator := server.NewServer()
	w := onWire(t, emulator)
	seed(t, dynamodb.NewFromConfig(w.config()))
	emulator.EmulateUnprocessedItems("t", func(n int, _ map[string]*server.AttributeValue) bool { return leave(n) })
	e := ours(t, 0, engine.WithService("DynamoDB"))
	cfg := w.config()
	require.NoError(t, awsretry.Apply(&cfg, e, awsretry.WithSharedEngine()))
	w.proxy.Script()
	return w, dynamodb.NewFromConfig(cfg), e
}

// What the service leaves comes back to it until nothing is left, in requests
// that it accepts; what is written is there.
func TestBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client, e := batches(t, func(n int) bool { return n%3 == 2 })
		in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{}}
		for i := range 60 {
			in.RequestItems["t"] = append(in.RequestItems["t"], types.WriteRequest{PutRequest: &types.PutRequest{Item: keyed(fmt.Sprint("b", i))}})
		}
		out, err := dynamoretry.BatchWriteItem(t.Context(), client, e, in)
		require.NoError(t, err)
		assert.Empty(t, out.UnprocessedItems)
		assert.Len(t, w.proxy.Seen(), 3+3+3, "25, 8, 2 and 25, 8, 2 and 10, 3, 1")

		keys := &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"t": {ConsistentRead: aws.Bool(true)}}}
		asked := keys.RequestItems["t"]
		for i := range 60 {
			asked.Keys = append(asked.Keys, keyed(fmt.Sprint("b", i)))
		}
		keys.RequestItems["t"] = asked
		w.proxy.Script()
		got, err := dynamoretry.BatchGetItem(t.Context(), client, e, keys)
		require.NoError(t, err)
		assert.Len(t, got.Responses["t"], 60)
		assert.Empty(t, got.UnprocessedKeys)
		assert.Len(t, w.proxy.Seen(), 4, "60, 20, 6, 2")
	})
}

// The client's retries and the batch's pay from one quota, each for what it does.
func TestBatchAndClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client, e := batches(t, func(int) bool { return true })
		w.proxy.Script(throttle, internal)
		in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"t": {{PutRequest: &types.PutRequest{Item: keyed("2")}}}}}
		start := time.Now()
		out, err := dynamoretry.BatchWriteItem(t.Context(), client, e, in)
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		assert.Equal(t, in.RequestItems, out.UnprocessedItems)
		assert.Len(t, w.proxy.Seen(), 3+1+1+1)
		// The client: -5 -14 +14, and +1 for each first success. The batch: -5 each.
		assert.Equal(t, 500-5-14+14-5+1-5+1-5+1, e.Stats().QuotaLevel)
		assert.Equal(t, 500*time.Millisecond+25*time.Millisecond+500*time.Millisecond+time.Second+2*time.Second, time.Since(start).Round(time.Microsecond))
	})
}

// The service refuses what it always refuses, at once: a key twice in a request.
func TestBatchRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client, e := batches(t, func(int) bool { return false })
		w.proxy.Script(nil, faulty.Code(http.StatusBadRequest, "ValidationException"))
		in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{}}
		for i := range 60 {
			in.RequestItems["t"] = append(in.RequestItems["t"], types.WriteRequest{PutRequest: &types.PutRequest{Item: keyed(fmt.Sprint(i))}})
		}
		out, err := dynamoretry.BatchWriteItem(t.Context(), client, e, in)
		assert.Contains(t, kinds(err), "smithy.GenericAPIError ValidationException")
		assert.Len(t, out.UnprocessedItems["t"], 35)
		assert.Len(t, w.proxy.Seen(), 2)
	})
}

// A transaction that others were in the way of is tried again; one whose
// condition fails is not, although others were in the way of it too.
func TestTransaction(t *testing.T) {
	cancelled := func(codes ...string) faulty.Fault {
		var reasons []map[string]any
		for _, code := range codes {
			reasons = append(reasons, map[string]any{"Code": code})
		}
		return faulty.CodeWith(400, "TransactionCanceledException", map[string]any{"CancellationReasons": reasons})
	}
	for _, row := range []struct {
		fault faulty.Fault
		gaps  []time.Duration // none: not tried again
	}{
		{cancelled("None", "TransactionConflict"), []time.Duration{12500 * time.Microsecond}},
		{cancelled("ProvisionedThroughputExceeded", "TransactionConflict"), []time.Duration{500 * time.Millisecond}},
		{cancelled("TransactionConflict", "ConditionalCheckFailed"), nil},
	} {
		for _, door := range both {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				e := ours(t, 0, engine.WithService("DynamoDB"))
				cfg := w.config()
				if door == "Apply" {
					require.NoError(t, awsretry.Apply(&cfg, e, awsretry.WithClass(dynamoretry.TransactionCanceled)))
				} else {
					r, err := awsretry.NewRetryer(e, awsretry.WithClass(dynamoretry.TransactionCanceled))
					require.NoError(t, err)
					cfg.Retryer = func() aws.Retryer { return r }
				}
				w.proxy.Script(row.fault)
				_, err := dynamodb.NewFromConfig(cfg).TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{
					TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: aws.String("t"), Item: keyed("3")}}},
				})
				seen := w.proxy.Seen()
				assert.Equal(t, row.gaps, gaps(seen), door)
				if row.gaps == nil {
					assert.Contains(t, kinds(err), "types.TransactionCanceledException TransactionCanceledException")
					return
				}
				require.NoError(t, err, door)
				assert.Equal(t, seen[0].Body, seen[1].Body, "the same ClientRequestToken")
			})
		}
	}
}
