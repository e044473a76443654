// Command throttle puts clients, one after the other, before a DynamoDB that has
// a capacity and throttles what exceeds it, and prints what each of them made of
// that capacity.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/truora/minidyn/server"

	"github.com/reprise-go/reprise/adapters/awsretry/proof/faulty"
)

// load is what each client has to deal with.
type load struct {
	perSecond float64       // the service's capacity; what it holds at the most too
	latency   time.Duration // of every answer
	workers   int           // each makes one call after the other
	lasts     time.Duration
	window    time.Duration // of throttle coalescing, where that is on
}

// result is what a client made of it.
type result struct {
	name     string
	took     []time.Duration // each call that succeeded, sorted
	failed   int             // calls that did not
	sent     int             // requests on the wire
	rejected int             // of those, throttled
	early    int             // calls that succeeded in the first four seconds
	late     int             // and in the last third of the time
}

const start = 4 * time.Second

func main() {
	var l load
	flag.Float64Var(&l.perSecond, "rate", 1000, "requests a second that the service takes")
	flag.DurationVar(&l.latency, "latency", 5*time.Millisecond, "of each answer")
	flag.IntVar(&l.workers, "workers", 64, "calls at a time")
	flag.DurationVar(&l.lasts, "time", 30*time.Second, "for each client, 100ms to 10m")
	flag.DurationVar(&l.window, "window", time.Minute, "of throttle coalescing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, os.Stdout, l, overTCP); err != nil {
		log.Fatal(err)
	}
}

// compare prints the table, a line as soon as it is known.
func compare(ctx context.Context, out io.Writer, l load, serve network) error {
	if l.perSecond < 1 || l.workers < 1 || l.workers > 10_000 || l.latency < 0 || l.lasts < 100*time.Millisecond || l.lasts > 10*time.Minute {
		return fmt.Errorf("throttle: %+v: want a rate of 1 or more, 1 to 10000 workers, and 100ms to 10m of time", l)
	}
	fmt.Fprintf(out, "%.0f requests/s, %d workers, %v for each client, latency %v, coalescing window %v\n\n", l.perSecond, l.workers, l.lasts, l.latency, l.window)
	fmt.Fprintln(out, "| client | goodput /s | in the first 4 s | in the last third | p50 | p99 | slowest | failed calls | requests /s | rejected |")
	fmt.Fprintln(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, c := range clients(l.window) {
		r, err := run(ctx, c, l, serve)
		if err != nil {
			return err
		}
		seconds := l.lasts.Seconds()
		fmt.Fprintf(out, "| %s | %.0f | %.0f | %.0f | %v | %v | %v | %d | %.0f | %d (%.0f %%) |\n", r.name,
			float64(len(r.took))/seconds, float64(r.early)/min(seconds, start.Seconds()), 3*float64(r.late)/seconds, r.percentile(50), r.percentile(99), r.percentile(100),
			r.failed, float64(r.sent)/seconds, r.rejected, 100*float64(r.rejected)/float64(max(1, r.sent)))
	}
	return nil
}

// percentile is of the calls that succeeded.
func (r result) percentile(p int) time.Duration {
	if len(r.took) == 0 {
		return 0
	}
	return r.took[min(len(r.took)-1, len(r.took)*p/100)].Round(100 * time.Microsecond)
}

// run puts one client under the load, before a service of its own.
func run(ctx context.Context, c client, l load, serve network) (result, error) {
	dynamo := server.NewServer()
	capacity := faulty.NewCapacity(l.perSecond, l.perSecond/10, faulty.Code(http.StatusBadRequest, "ProvisionedThroughputExceededException"))
	limited := faulty.After(l.latency, capacity.Fault)
	url, transport, stop := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") {
			limited(w, r, dynamo)
		} else {
			dynamo.ServeHTTP(w, r) // the table is made
		}
	}))
	defer stop()
	transport.MaxIdleConnsPerHost = l.workers
	defer transport.CloseIdleConnections()
	cfg := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(url), HTTPClient: &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	}
	setup := dynamodb.NewFromConfig(cfg)
	if err := seed(ctx, setup); err != nil {
		return result{}, err
	}
	// All begin at the same phase of the half seconds that adaptive mode measures in
	// (R8.4): by how much the first throttle cuts depends on it.
	now := time.Now()
	if err := wait(ctx, now.Truncate(time.Second).Add(time.Second).Sub(now)); err != nil {
		return result{}, err
	}
	db, err := c.make(cfg)
	if err != nil {
		return result{}, fmt.Errorf("throttle: %s: %w", c.name, err)
	}

	until, cancel := context.WithCancel(ctx) // a deadline would change what a client does towards the end
	defer cancel()
	defer time.AfterFunc(l.lasts, cancel).Stop()
	begun := time.Now()
	results := make([]result, l.workers)
	var working sync.WaitGroup
	for i := range results {
		working.Go(func() { results[i].work(until, db, begun, l.lasts) })
	}
	working.Wait()
	all := result{name: c.name}
	for _, r := range results {
		all.took, all.failed, all.early, all.late = append(all.took, r.took...), all.failed+r.failed, all.early+r.early, all.late+r.late
	}
	slices.Sort(all.took)
	admitted, rejected := capacity.Counts()
	all.sent, all.rejected = admitted+rejected, rejected
	return all, ctx.Err()
}

// work calls until ctx is done; the call that this cuts short does not count.
func (r *result) work(ctx context.Context, db *dynamodb.Client, begun time.Time, lasts time.Duration) {
	in := &dynamodb.GetItemInput{TableName: aws.String("t"), Key: key()}
	for {
		called := time.Now()
		_, err := db.GetItem(ctx, in)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.failed++
		default:
			now := time.Now()
			r.took = append(r.took, now.Sub(called))
			if now.Sub(begun) <= start {
				r.early++
			}
			if now.Sub(begun) >= lasts*2/3 {
				r.late++
			}
		}
	}
}

// network serves a handler, until stop, and returns how to reach it.
type network func(http.Handler) (url string, transport *http.Transport, stop func())

// overTCP is on 127.0.0.1.
func overTCP(handler http.Handler) (url string, transport *http.Transport, stop func()) {
	service := httptest.NewServer(handler)
	return service.URL, new(http.Transport), service.Close
}

// wait waits for d, or until ctx is done.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func key() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "1"}}
}

// seed makes the table and its one item.
func seed(ctx context.Context, db *dynamodb.Client) error {
	_, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String("t"),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		return err
	}
	_, err = db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("t"), Item: key()})
	return err
}
