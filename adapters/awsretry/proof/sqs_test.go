package proof_test

import (
	"context"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sivchari/kumo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry/proof/faulty"
)

// newQueue is an emulated SQS with an empty queue, behind a proxy on 127.0.0.1.
func newQueue(t testing.TB) (w *world, queue *string) {
	t.Helper()
	emulator := kumo.NewServer()
	t.Cleanup(emulator.Close)
	at, err := url.Parse(emulator.URL)
	require.NoError(t, err)
	w = onLoopback(t, httputil.NewSingleHostReverseProxy(at))
	created, err := sqs.NewFromConfig(w.config()).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")})
	require.NoError(t, err)
	return w, created.QueueUrl
}

// A long poll that fails is asked again, and then waits for its message as long
// as it takes to come: on all clients, over TCP, with breaks that are real.
func TestPoll(t *testing.T) {
	for _, kind := range clientKinds {
		t.Run(kind.name, func(t *testing.T) {
			w, queue := newQueue(t)
			options := kind.make(t, 0)
			options.keep = keepResults(nil)
			client := options.sqs(w)
			polling := make(chan struct{})
			w.proxy.Choose(func(n int) faulty.Fault {
				switch n {
				case 0:
					return faulty.Reset
				case 1:
					return faulty.HTML(503)
				case 2:
					close(polling)
				}
				return nil
			})
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				<-polling
				_, err := client.SendMessage(context.Background(), &sqs.SendMessageInput{QueueUrl: queue, MessageBody: aws.String("late")})
				assert.NoError(t, err)
			}()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue, WaitTimeSeconds: 20})
			require.NoError(t, err)
			require.Len(t, out.Messages, 1)
			assert.Equal(t, "late", *out.Messages[0].Body)
			<-sent
			seen := w.proxy.Seen()
			require.Len(t, seen, 4)
			assert.Equal(t, "attempt=3; max=3", seen[2].Attempt)
			assert.GreaterOrEqual(t, gaps(seen)[0], 25*time.Millisecond)
			assert.Equal(t, 500-14-14+14+1, options.tokens(true), "R6: the first retry is spent, the second came back, the message was sent at once")
		})
	}
}

// A poll that the quota refuses waits once and returns the error (R7); cancelled
// in that wait it returns at once.
func TestPollRefused(t *testing.T) {
	for _, kind := range clientKinds {
		t.Run(kind.name, func(t *testing.T) {
			w, queue := newQueue(t)
			options := kind.make(t, 3)
			options.keep = keepResults(nil)
			client := options.sqs(w)
			in := &sqs.ReceiveMessageInput{QueueUrl: queue, WaitTimeSeconds: 20}

			w.proxy.Script(times(9, internal)...)
			start := time.Now()
			_, err := client.ReceiveMessage(t.Context(), in)
			require.ErrorContains(t, err, "InternalServerError")
			assert.GreaterOrEqual(t, time.Since(start), 25*time.Millisecond)
			assert.Len(t, w.proxy.Seen(), 1)
			assert.Contains(t, kinds(err), "QuotaExceededError")
			assert.Equal(t, 3, options.tokens(true))

			w.proxy.Script(times(9, retryAfter("60000", internal))...) // a wait of 5 s
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(200*time.Millisecond, cancel).Stop()
			start = time.Now()
			_, err = client.ReceiveMessage(ctx, in)
			require.Error(t, err)
			assert.Less(t, time.Since(start), 4*time.Second)
			assert.Len(t, w.proxy.Seen(), 1)
			assert.Equal(t, 3, options.tokens(true))
		})
	}
}
