package dynamoretry

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-go/reprise/engine"
)

// Getter is the part of *dynamodb.Client that reads batches.
type Getter interface {
	BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
}

// BatchGetItem reads all keys of in, however many, in requests of at most 100,
// table by table in the order of their names, and asks again for what the service
// leaves unprocessed as e says (see the package comment).
//
// The output is never nil, whatever the error. Responses has all items that were
// read, by table, in the order of the answers. Its UnprocessedKeys is what is left,
// with its table's settings, in a form that is an input again: what the service
// left and e did not allow to be asked for again, then what was never asked for;
// nil if nothing is left. ConsumedCapacity has what each request reported, one
// after the other. ResultMetadata is that of the last request that was answered.
//
// The error, an input without keys, and misuse are as in [BatchWriteItem].
//
// Blocks for the requests and the delays, and never sleeps past ctx's deadline.
func BatchGetItem(ctx context.Context, client Getter, e *engine.Engine, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{Responses: make(map[string][]map[string]types.AttributeValue)}
	if in == nil {
		in = new(dynamodb.BatchGetItemInput)
	}
	if err := misuse("BatchGetItem", ctx, client, e); err != nil {
		out.UnprocessedKeys = in.RequestItems
		return out, err
	}
	settings := in.RequestItems
	left, err := drain(ctx, e, keysOf(in.RequestItems), mostKeys, func(batch []item[key]) ([]item[key], error) {
		request := *in
		request.RequestItems = keysByTable(batch, settings)
		answer, err := client.BatchGetItem(ctx, &request, opts...)
		if err != nil {
			return nil, err
		}
		if answer == nil {
			return nil, errNoOutput
		}
		out.ResultMetadata = answer.ResultMetadata
		out.ConsumedCapacity = append(out.ConsumedCapacity, answer.ConsumedCapacity...)
		for table, items := range answer.Responses {
			out.Responses[table] = append(out.Responses[table], items...)
		}
		settings = withOthers(settings, answer.UnprocessedKeys)
		return keysOf(answer.UnprocessedKeys), nil
	})
	out.UnprocessedKeys = keysByTable(left, settings)
	return out, err
}

// key names one item of a table.
type key = map[string]types.AttributeValue

// keysOf is the list of the keys of tables, table by table.
func keysOf(tables map[string]types.KeysAndAttributes) (list []item[key]) {
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		for _, k := range tables[table].Keys {
			list = append(list, item[key]{table, k})
		}
	}
	return list
}

// keysByTable is the reverse of keysOf; nil for nothing. What else is asked of a
// table, such as consistent reads, is what the caller asked in settings.
func keysByTable(list []item[key], settings map[string]types.KeysAndAttributes) map[string]types.KeysAndAttributes {
	if len(list) == 0 {
		return nil
	}
	tables := make(map[string]types.KeysAndAttributes)
	for _, i := range list {
		asked, ok := tables[i.table]
		if !ok {
			asked = settings[i.table]
			asked.Keys = nil
		}
		asked.Keys = append(asked.Keys, i.value)
		tables[i.table] = asked
	}
	return tables
}

// withOthers returns settings with those of tables that it has not, which the
// service may call by another name than the caller did.
func withOthers(settings, answer map[string]types.KeysAndAttributes) map[string]types.KeysAndAttributes {
	copied := false
	for table, said := range answer {
		if _, known := settings[table]; known {
			continue
		}
		if !copied {
			settings, copied = maps.Clone(settings), true // the caller's is not written to
		}
		settings[table] = said
	}
	return settings
}
