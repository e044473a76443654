package dynamoretry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry/dynamoretry"
	"github.com/reprise-go/reprise/engine"
)

// No request is larger than the service takes, and every item is sent once.
func TestSizes(t *testing.T) {
	for _, tables := range []map[string]int{
		nil, {"a": 0}, {"a": 1}, {"a": 25}, {"a": 26}, {"a": 100}, {"a": 101}, {"a": 24, "b": 2}, {"a": 10, "b": 10, "c": 10}, {"a": 333, "b": 0, "c": 1},
	} {
		t.Run(fmt.Sprint(tables), func(t *testing.T) {
			total := 0
			for _, n := range tables {
				total += n
			}
			var written, read service
			out, err := dynamoretry.BatchWriteItem(t.Context(), &written, dynamo(t), writes(tables))
			require.NoError(t, err)
			assert.Nil(t, out.UnprocessedItems)
			got, err := dynamoretry.BatchGetItem(t.Context(), &read, dynamo(t), keys(tables))
			require.NoError(t, err)
			assert.Nil(t, got.UnprocessedKeys)

			for _, row := range []struct {
				s    service
				most int
			}{{written, 25}, {read, 100}} {
				assert.Len(t, row.s.sent, (total+row.most-1)/row.most, "no more requests than it takes")
				for _, names := range row.s.sent {
					assert.LessOrEqual(t, len(names), row.most)
				}
				assert.Len(t, row.s.done, total)
				for name, times := range row.s.done {
					assert.Equal(t, 1, times, name)
				}
			}
			for table, n := range tables {
				assert.Len(t, got.Responses[table], n)
			}
		})
	}
}

// A rest is a throttled attempt: 5 tokens (R6), base 1 s (R4.1), the rest alone,
// and what the last retry took comes back (R6).
func TestRestIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service{leave: func(request, _ int) int { return []int{7, 3, 0}[request] }}
		e := dynamo(t)
		out, err := dynamoretry.BatchWriteItem(t.Context(), &s, e, writes(map[string]int{"a": 10}))
		require.NoError(t, err)
		assert.Nil(t, out.UnprocessedItems)
		assert.Equal(t, [][]string{
			{"a/0", "a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/8", "a/9"},
			{"a/3", "a/4", "a/5", "a/6", "a/7", "a/8", "a/9"},
			{"a/7", "a/8", "a/9"},
		}, s.sent)
		assert.Equal(t, 500*time.Millisecond, s.at[1].Sub(s.at[0]))
		assert.Equal(t, time.Second, s.at[2].Sub(s.at[1]))
		assert.Equal(t, 500-5-5+5, e.Stats().QuotaLevel)

		require.Len(t, out.ConsumedCapacity, 3, "what each request reported")
		assert.Equal(t, 4.0, *out.ConsumedCapacity[1].CapacityUnits)
		assert.Len(t, out.ItemCollectionMetrics["a"], 3)
	})
}

// What is left comes back with its table's settings, although this service sends
// none back, and the reads of all requests are there.
func TestReadRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service{leave: always(3)}
		e := dynamo(t)
		out, err := dynamoretry.BatchGetItem(t.Context(), &s, e, keys(map[string]int{"a": 5}))
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		assert.Len(t, out.Responses["a"], 2)
		assert.Equal(t, keys(map[string]int{"a": 5}).RequestItems["a"].Keys[2:], out.UnprocessedKeys["a"].Keys)
		for _, asked := range append(s.gets, &dynamodb.BatchGetItemInput{RequestItems: out.UnprocessedKeys}) {
			assert.True(t, *asked.RequestItems["a"].ConsistentRead)
			assert.Equal(t, "a", *asked.RequestItems["a"].ProjectionExpression)
		}
		assert.Len(t, s.gets, 4)
	})
}

// A batch whose attempts are used up does not keep the next from its first, and
// what is left is that batch's rest.
func TestAttemptsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service{leave: first(4, 2)}
		in := writes(map[string]int{"a": 30})
		out, err := dynamoretry.BatchWriteItem(t.Context(), &s, dynamo(t), in)
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		ended, ok := errors.AsType[*engine.Error](err)
		require.True(t, ok)
		assert.Equal(t, 4, ended.Attempts, "R1.1: DynamoDB's")
		left, ok := errors.AsType[*dynamoretry.UnprocessedError](err)
		require.True(t, ok)
		assert.Equal(t, dynamoretry.UnprocessedError{Left: 2, Items: 30}, *left)
		assert.ErrorContains(t, err, "attempts used up after 4 attempts: reprise/dynamoretry: 2 of 30 items are unprocessed")
		assert.Equal(t, []string{"a/23", "a/24"}, names(out.UnprocessedItems))
		assert.Len(t, s.sent, 5)
		assert.Len(t, s.sent[4], 5)
		assert.Equal(t, writes(map[string]int{"a": 30}), in, "the input is as it was")
	})
}

// The quota refuses rests and never a batch's first request (R6.1).
func TestQuotaRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service{leave: always(1)}
		e := dynamo(t, engine.WithTokens(7))
		out, err := dynamoretry.BatchWriteItem(t.Context(), &s, e, writes(map[string]int{"a": 75}))
		require.ErrorIs(t, err, engine.ErrQuota)
		assert.Len(t, s.sent, 4, "one retry for 5 tokens")
		assert.Equal(t, []string{"a/24", "a/49", "a/74"}, names(out.UnprocessedItems))
		assert.Equal(t, 2, e.Stats().QuotaLevel)
	})
}

// A delay that does not fit before the deadline is not slept, and takes nothing.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		s := service{leave: first(1, 25)}
		e := dynamo(t)
		start := time.Now()
		out, err := dynamoretry.BatchWriteItem(ctx, &s, e, writes(map[string]int{"a": 30}))
		require.ErrorIs(t, err, engine.ErrDeadline)
		assert.Zero(t, time.Since(start))
		assert.Len(t, out.UnprocessedItems["a"], 25)
		assert.Len(t, s.sent, 2, "there was time for the next batch's first request")
		assert.Equal(t, 500, e.Stats().QuotaLevel)
	})
}

// A cancellation in the wait ends it at once, the tokens come back (R6.3), and
// all that is left comes back, what was never sent included.
func TestCancelInWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the user has gone")
		time.AfterFunc(100*time.Millisecond, func() { cancel(gone) })
		s := service{leave: always(2)}
		e := dynamo(t)
		start := time.Now()
		out, err := dynamoretry.BatchGetItem(ctx, &s, e, keys(map[string]int{"a": 100, "b": 10}))
		require.ErrorIs(t, err, engine.ErrCancelled)
		require.ErrorIs(t, err, gone)
		assert.Equal(t, 100*time.Millisecond, time.Since(start))
		assert.Len(t, s.sent, 1)
		assert.Len(t, out.UnprocessedKeys["a"].Keys, 2)
		assert.Len(t, out.UnprocessedKeys["b"].Keys, 10)
		left, _ := errors.AsType[*dynamoretry.UnprocessedError](err)
		assert.Equal(t, 12, left.Left)
		assert.Equal(t, 500, e.Stats().QuotaLevel)
	})
}

// An error of the client's comes back as it is, and nothing is sent after it.
func TestClientFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		denied := &types.ProvisionedThroughputExceededException{Message: aws.String("the client's retries are used up")}
		s := service{leave: first(1, 1), fail: func(request int) error {
			if request == 1 {
				return denied
			}
			return nil
		}}
		e := dynamo(t)
		out, err := dynamoretry.BatchWriteItem(t.Context(), &s, e, writes(map[string]int{"a": 30}))
		assert.Same(t, denied, err)
		assert.Len(t, s.sent, 2)
		assert.Equal(t, []string{"a/24", "a/25", "a/26", "a/27", "a/28", "a/29"}, names(out.UnprocessedItems))
		assert.Equal(t, 495, e.Stats().QuotaLevel, "R6.4: the retry was sent")
		assert.EqualValues(t, 1, e.Stats().Stops[engine.ReasonNotReplayable])
	})
}

// A context that ends while a request is out is the caller's doing (R3.6).
func TestCancelInRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := service{fail: func(int) error { cancel(); return ctx.Err() }}
	e := dynamo(t)
	out, err := dynamoretry.BatchWriteItem(ctx, &s, e, writes(map[string]int{"a": 30}))
	require.Equal(t, context.Canceled, err)
	assert.Len(t, out.UnprocessedItems["a"], 30)
	assert.EqualValues(t, 1, e.Stats().Stops[engine.ReasonCancelled])
}

// In adaptive mode the limiter hears of a rest as of a throttle, and of every
// request once (R2.2).
func TestAdaptive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := dynamo(t, engine.WithMode(engine.Adaptive))
		s := service{leave: first(1, 1)}
		_, err := dynamoretry.BatchWriteItem(t.Context(), &s, e, writes(map[string]int{"a": 2}))
		require.NoError(t, err)
		assert.True(t, e.Stats().Limiter.Enabled)

		throttled := dynamo(t, engine.WithMode(engine.Adaptive))
		s = service{fail: func(int) error { return &types.ThrottlingException{} }}
		_, err = dynamoretry.BatchWriteItem(t.Context(), &s, throttled, writes(map[string]int{"a": 2}))
		require.Error(t, err)
		assert.True(t, throttled.Stats().Limiter.Enabled, "a throttle that the client gave up on is one too")

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		out, err := dynamoretry.BatchWriteItem(ctx, &s, throttled, writes(map[string]int{"a": 2}))
		require.ErrorIs(t, err, engine.ErrDeadline, "the limiter's wait does not fit")
		assert.Len(t, s.sent, 1, "so nothing was sent")
		assert.Len(t, out.UnprocessedItems["a"], 2)
		left, ok := errors.AsType[*dynamoretry.UnprocessedError](err)
		require.True(t, ok)
		assert.Equal(t, 2, left.Left)
	})
}

// The tokens of a retry in which the client panics are accounted for: spent.
func TestClientPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service{leave: always(1), fail: func(request int) error {
			if request == 1 {
				panic("client")
			}
			return nil
		}}
		e := dynamo(t)
		assert.PanicsWithValue(t, "client", func() {
			_, _ = dynamoretry.BatchWriteItem(t.Context(), &s, e, writes(map[string]int{"a": 2}))
		})
		assert.Equal(t, 495, e.Stats().QuotaLevel)
		assert.EqualValues(t, 1, e.Stats().Stops[engine.ReasonCancelled])
	})
}

func TestMisuse(t *testing.T) {
	in, e := writes(map[string]int{"a": 2}), dynamo(t)
	var none context.Context
	for want, call := range map[string]func() (*dynamodb.BatchWriteItemOutput, error){
		"in the place of a context": func() (*dynamodb.BatchWriteItemOutput, error) {
			return dynamoretry.BatchWriteItem(none, new(service), e, in)
		},
		"in the place of a client": func() (*dynamodb.BatchWriteItemOutput, error) {
			return dynamoretry.BatchWriteItem(t.Context(), nil, e, in)
		},
		"in the place of an engine": func() (*dynamodb.BatchWriteItemOutput, error) {
			return dynamoretry.BatchWriteItem(t.Context(), new(service), nil, in)
		},
		"in the place of a client, such as": func() (*dynamodb.BatchWriteItemOutput, error) {
			var client *dynamodb.Client
			return dynamoretry.BatchWriteItem(t.Context(), client, e, in)
		},
		"with the zero Engine": func() (*dynamodb.BatchWriteItemOutput, error) {
			return dynamoretry.BatchWriteItem(t.Context(), new(service), new(engine.Engine), in)
		},
	} {
		out, err := call()
		require.ErrorContains(t, err, "reprise/dynamoretry: BatchWriteItem")
		require.ErrorContains(t, err, want)
		assert.Equal(t, in.RequestItems, out.UnprocessedItems)
	}
	out, err := dynamoretry.BatchGetItem(t.Context(), nil, e, keys(map[string]int{"a": 2}))
	require.ErrorContains(t, err, "BatchGetItem")
	assert.Len(t, out.UnprocessedKeys["a"].Keys, 2)

	for _, in := range []*dynamodb.BatchWriteItemInput{nil, {}} {
		out, err := dynamoretry.BatchWriteItem(t.Context(), new(service), e, in)
		require.NoError(t, err)
		assert.Nil(t, out.UnprocessedItems)
	}
	got, err := dynamoretry.BatchGetItem(t.Context(), new(service), e, nil)
	require.NoError(t, err)
	assert.Empty(t, got.Responses)
}

// Whatever the service leaves and whenever it fails: each item is done or left,
// and not both.
func FuzzBatch(f *testing.F) {
	f.Add(uint16(30), uint16(0), []byte{2, 2, 2, 2}, uint8(255))
	f.Add(uint16(1), uint16(300), []byte{25, 9, 0, 4}, uint8(6))
	f.Add(uint16(26), uint16(26), []byte{}, uint8(0))
	f.Fuzz(func(t *testing.T, a, b uint16, leaves []byte, failing uint8) {
		synctest.Test(t, func(t *testing.T) {
			tables := map[string]int{"a": int(a % 500), "b": int(b % 500)}
			s := service{
				leave: func(request, n int) int {
					if request < len(leaves) {
						return int(leaves[request]) % (n + 1)
					}
					return 0
				},
				fail: func(request int) error {
					if request == int(failing) {
						return errors.New("broken")
					}
					return nil
				},
			}
			e := dynamo(t, engine.WithTokens(20))
			out, err := dynamoretry.BatchWriteItem(t.Context(), &s, e, writes(tables))
			left := names(out.UnprocessedItems)
			require.Equal(t, err != nil, len(left) > 0)
			for _, name := range left {
				s.done[name]++
			}
			require.Len(t, s.done, tables["a"]+tables["b"])
			for name, times := range s.done {
				require.Equal(t, 1, times, name)
			}
			for _, names := range s.sent {
				require.LessOrEqual(t, len(names), 25)
			}
			stats := e.Stats()
			require.GreaterOrEqual(t, stats.QuotaLevel, 0)
			require.LessOrEqual(t, stats.QuotaLevel, stats.QuotaCapacity)
		})
	})
}
