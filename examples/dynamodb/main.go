// Command dynamodb shows a DynamoDB client that has 50 ms for each call, before a
// server that fails now and then and throttles for a while: once behind the engine, once with
// the SDK's own retryer, on the same faults.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/engine"
)

func main() {
	seconds := flag.Int("seconds", 3, "for each of the two clients, 1 to 6")
	flag.Parse()
	if *seconds < 1 || *seconds > 6 {
		log.Fatalf("dynamodb: -seconds %d: want 1 to 6", *seconds)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	text, err := compare(ctx, load{calls: 600 * *seconds, perSecond: 600, deadline: 50 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
}

// compare puts both clients under the same load and tells how they fared.
func compare(ctx context.Context, l load) (string, error) {
	engineSays, ours, err := withEngine(ctx, l)
	if err != nil {
		return "", err
	}
	theirs, err := withSDK(ctx, l)
	if err != nil {
		return "", err
	}
	return table(l, ours, theirs) + engineSays, nil
}

// withEngine is all that changes in a program: an engine, and Apply.
func withEngine(ctx context.Context, l load) (says string, r report, err error) {
	db := startServer()
	defer db.stop()
	cfg := db.config()

	e, err := engine.New()
	if err != nil {
		return "", r, err
	}
	if err := awsretry.Apply(&cfg, e); err != nil {
		return "", r, err
	}
	r, err = l.run(ctx, db, dynamodb.NewFromConfig(cfg))

	engines, _ := awsretry.EnginesOf(cfg.Retryer())
	s := engines.For(awsretry.Key{Service: "DynamoDB", Region: cfg.Region}).Stats()
	r.name, r.tokens = "reprise", s.QuotaLevel
	says = fmt.Sprintf("\nThe engine retried %d throttled and %d failed attempts; %d calls succeeded by a retry.\n"+
		"It ended %d calls because no retry fitted before the deadline, %d because the attempts were used up, %d because the quota refused.\n",
		s.ThrottlingRetries, s.TransientRetries, s.Recoveries,
		s.Stops[engine.ReasonDeadline], s.Stops[engine.ReasonMaxAttempts], s.Stops[engine.ReasonQuota])
	return says, r, err
}

// withSDK is the client as it is without us: DynamoDB's defaults, with a quota
// that can be looked at.
func withSDK(ctx context.Context, l load) (r report, err error) {
	db := startServer()
	defer db.stop()
	quota := ratelimit.NewTokenRateLimit(retry.DefaultRetryRateTokens)
	client := dynamodb.NewFromConfig(db.config(), func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
			s.MaxAttempts, s.BaseDelay, s.RateLimiter = 4, 25*time.Millisecond, quota
		})
	})
	r, err = l.run(ctx, db, client)
	r.name, r.tokens = "SDK standard", int(quota.Remaining())
	return r, err
}

// call is one call with a deadline, as a program that must answer makes it.
func call(ctx context.Context, client *dynamodb.Client, deadline time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: item()})
	if err == nil && len(out.Item) == 0 {
		return errors.New("dynamodb: the item is not there")
	}
	return err
}
