package dynamoretry_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

// service stands for a *dynamodb.Client. It has no lock: a helper that sent from
// another goroutine would be a race.
type service struct {
	// leave says how many of the n items of a request (from 0) stay unprocessed:
	// the last ones of each table, as far as they go.
	leave func(request, n int) int
	fail  func(request int) error

	sent [][]string // "table/id" of each request
	at   []time.Time
	done map[string]int
	gets []*dynamodb.BatchGetItemInput
}

func (s *service) request(names []string) (left int, err error) {
	number := len(s.sent)
	s.sent = append(s.sent, names)
	s.at = append(s.at, time.Now())
	if s.done == nil {
		s.done = make(map[string]int)
	}
	if s.fail != nil {
		if err := s.fail(number); err != nil {
			return 0, err
		}
	}
	if s.leave != nil {
		left = min(len(names), s.leave(number, len(names)))
	}
	return left, nil
}

func (s *service) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	var names []string
	for table, writes := range in.RequestItems {
		for _, w := range writes {
			names = append(names, table+"/"+id(w.PutRequest.Item))
		}
	}
	left, err := s.request(names)
	if err != nil {
		return nil, err
	}
	out := &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{}}
	for table, writes := range in.RequestItems {
		n := min(left, len(writes))
		left -= n
		for _, w := range writes[:len(writes)-n] {
			s.done[table+"/"+id(w.PutRequest.Item)]++
		}
		if n > 0 {
			out.UnprocessedItems[table] = writes[len(writes)-n:]
		}
		out.ConsumedCapacity = append(out.ConsumedCapacity, types.ConsumedCapacity{TableName: &table, CapacityUnits: aws.Float64(float64(len(writes) - n))})
		out.ItemCollectionMetrics = map[string][]types.ItemCollectionMetrics{table: {{SizeEstimateRangeGB: []float64{1}}}}
	}
	return out, nil
}

func (s *service) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	s.gets = append(s.gets, in)
	var names []string
	for table, asked := range in.RequestItems {
		for _, k := range asked.Keys {
			names = append(names, table+"/"+id(k))
		}
	}
	left, err := s.request(names)
	if err != nil {
		return nil, err
	}
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}, UnprocessedKeys: map[string]types.KeysAndAttributes{}}
	for table, asked := range in.RequestItems {
		n := min(left, len(asked.Keys))
		left -= n
		for _, k := range asked.Keys[:len(asked.Keys)-n] {
			s.done[table+"/"+id(k)]++
			out.Responses[table] = append(out.Responses[table], k)
		}
		if n > 0 {
			out.UnprocessedKeys[table] = types.KeysAndAttributes{Keys: asked.Keys[len(asked.Keys)-n:]} // and none of the settings
		}
	}
	return out, nil
}

func id(attributes map[string]types.AttributeValue) string {
	return attributes["id"].(*types.AttributeValueMemberS).Value
}

func keyed(i int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: fmt.Sprint(i)}}
}

// writes is an input of so many items for each table.
func writes(tables map[string]int) *dynamodb.BatchWriteItemInput {
	in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{}}
	for table, n := range tables {
		for i := range n {
			in.RequestItems[table] = append(in.RequestItems[table], types.WriteRequest{PutRequest: &types.PutRequest{Item: keyed(i)}})
		}
	}
	return in
}

// keys is the same for reading.
func keys(tables map[string]int) *dynamodb.BatchGetItemInput {
	in := &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{}}
	for table, n := range tables {
		asked := types.KeysAndAttributes{ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String(table)}
		for i := range n {
			asked.Keys = append(asked.Keys, keyed(i))
		}
		in.RequestItems[table] = asked
	}
	return in
}

func names(tables map[string][]types.WriteRequest) (list []string) {
	for table, left := range tables {
		for _, w := range left {
			list = append(list, table+"/"+id(w.PutRequest.Item))
		}
	}
	return list
}

// half draws the middle of each delay.
type half struct{}

func (half) Uint64() uint64 { return 1 << 63 }

// dynamo is an engine as the package comment advises, with half of each delay.
func dynamo(t testing.TB, opts ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.New(append([]engine.Option{engine.WithService("DynamoDB"), engine.WithSource(half{})}, opts...)...)
	require.NoError(t, err)
	return e
}

// always leaves n items of whatever is sent.
func always(n int) func(int, int) int { return func(int, int) int { return n } }

// first leaves n items of the first few requests and none later.
func first(requests, n int) func(int, int) int {
	return func(request, _ int) int {
		if request < requests {
			return n
		}
		return 0
	}
}
