package dynamoretry

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// What one request may hold at the most, says the service.
const (
	mostWrites = 25
	mostKeys   = 100
)

// unprocessed is what a batch comes back with that left something.
var unprocessed = engine.Outcome{Class: classify.Throttling}

// item is one write or one key, with the table that it is for.
type item[T any] struct {
	table string
	value T
}

// drain sends items in batches of at most most, and the rest of each again as
// the engine allows. It returns what is left, in the order it came in, and why.
// send makes one request and returns what the service left of it.
func drain[T any](ctx context.Context, e *engine.Engine, items []item[T], most int, send func([]item[T]) ([]item[T], error)) ([]item[T], error) {
	var left []item[T]
	var why error
	total := &UnprocessedError{Items: len(items)}
	for len(items) > 0 {
		n := min(most, len(items))
		rest, err := drainBatch(ctx, e, items[:n], total, send)
		items = items[n:]
		if err == nil {
			continue
		}
		left, why = append(left, rest...), err
		if ctx.Err() != nil || !errors.Is(err, total) {
			left = append(left, items...)
			break
		}
	}
	total.Left = len(left)
	return left, why
}

// drainBatch is one call of the engine: a batch that fits into one request.
func drainBatch[T any](ctx context.Context, e *engine.Engine, batch []item[T], total *UnprocessedError, send func([]item[T]) ([]item[T], error)) ([]item[T], error) {
	c := e.Begin()
	defer c.Abandon() // if send panics; else the call has ended
	if d := c.AdmitWait(ctx); d.Reason != engine.ReasonRetry {
		return batch, c.Wrap(ctx, total, classify.NonRetryable, d)
	}
	for {
		rest, err := send(batch)
		if err == nil && len(rest) > len(batch) {
			err = fmt.Errorf("reprise/dynamoretry: the service left %d items unprocessed of the %d that it was sent", len(rest), len(batch))
		}
		if err != nil {
			// Not replayable: the client has had its retries. The class is for the
			// limiter of adaptive mode, which must hear of every throttle (R2.2).
			c.FailIn(ctx, engine.Outcome{Class: e.Classifier().Error(err), NotReplayable: true, Cancelled: true})
			return batch, err
		}
		if len(rest) == 0 {
			c.Succeed()
			return nil, nil
		}
		batch = rest
		if d := c.FailWait(ctx, unprocessed); d.Reason != engine.ReasonRetry {
			return batch, c.Wrap(ctx, total, classify.Throttling, d)
		}
	}
}

// misuse is what is wrong with the arguments of a batch, or nil.
func misuse(function string, ctx context.Context, client any, e *engine.Engine) error {
	const newEngine = `make one with engine.New(engine.WithService("DynamoDB"))`
	got, want := "nil in the place of ", ""
	sdk, isSDK := client.(*dynamodb.Client)
	switch {
	case ctx == nil:
		want = "a context (context.Background() will do)"
	case client == nil, isSDK && sdk == nil:
		want = "a client, such as dynamodb.NewFromConfig makes"
	case e == nil:
		want = "an engine: " + newEngine
	default:
		if _, err := e.Derive(); err == nil {
			return nil
		}
		got, want = "the zero Engine: ", newEngine
	}
	return fmt.Errorf("reprise/dynamoretry: %s was called with %s%s", function, got, want)
}

var errNoOutput = errors.New("reprise/dynamoretry: the client returned neither an output nor an error")
