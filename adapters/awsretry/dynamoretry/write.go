package dynamoretry

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-go/reprise/engine"
)

// Writer is the part of *dynamodb.Client that writes batches.
type Writer interface {
	BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
}

// BatchWriteItem writes all of in, however much it is, in requests of at most 25
// items, table by table in the order of their names, and sends again what the
// service leaves unprocessed as e says (see the package comment).
//
// The output is never nil, whatever the error. Its UnprocessedItems is what is
// left, in a form that is an input again: what the service left and e did not
// allow to be sent again, then what was never sent; nil if nothing is left.
// ConsumedCapacity and ItemCollectionMetrics have what each request reported, one
// after the other: sum them up by table. ResultMetadata is that of the last
// request that was answered.
//
// The error is nil if nothing is left. Else it is that of the last batch that left
// something: an *engine.Error that holds the reason and an [*UnprocessedError]; or
// the client's error as it is, if a request failed. An input without items sends
// nothing and is no error; a nil context, client or engine, or the zero engine, is one,
// and all is left.
//
// Blocks for the requests and the delays, and never sleeps past ctx's deadline.
func BatchWriteItem(ctx context.Context, client Writer, e *engine.Engine, in *dynamodb.BatchWriteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	out := new(dynamodb.BatchWriteItemOutput)
	if in == nil {
		in = new(dynamodb.BatchWriteItemInput)
	}
	if err := misuse("BatchWriteItem", ctx, client, e); err != nil {
		out.UnprocessedItems = in.RequestItems
		return out, err
	}
	left, err := drain(ctx, e, writesOf(in.RequestItems), mostWrites, func(batch []item[types.WriteRequest]) ([]item[types.WriteRequest], error) {
		request := *in
		request.RequestItems = writesByTable(batch)
		answer, err := client.BatchWriteItem(ctx, &request, opts...)
		if err != nil {
			return nil, err
		}
		if answer == nil {
			return nil, errNoOutput
		}
		out.ResultMetadata = answer.ResultMetadata
		out.ConsumedCapacity = append(out.ConsumedCapacity, answer.ConsumedCapacity...)
		for table, metrics := range answer.ItemCollectionMetrics {
			if out.ItemCollectionMetrics == nil {
				out.ItemCollectionMetrics = make(map[string][]types.ItemCollectionMetrics)
			}
			out.ItemCollectionMetrics[table] = append(out.ItemCollectionMetrics[table], metrics...)
		}
		return writesOf(answer.UnprocessedItems), nil
	})
	out.UnprocessedItems = writesByTable(left)
	return out, err
}

// writesOf is the list of what tables has, table by table.
func writesOf(tables map[string][]types.WriteRequest) (list []item[types.WriteRequest]) {
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		for _, request := range tables[table] {
			list = append(list, item[types.WriteRequest]{table, request})
		}
	}
	return list
}

// writesByTable is the reverse of writesOf; nil for nothing.
func writesByTable(list []item[types.WriteRequest]) map[string][]types.WriteRequest {
	if len(list) == 0 {
		return nil
	}
	tables := make(map[string][]types.WriteRequest)
	for _, i := range list {
		tables[i.table] = append(tables[i.table], i.value)
	}
	return tables
}
