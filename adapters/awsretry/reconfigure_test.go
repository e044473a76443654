package awsretry_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/engine"
)

// Reconfigure reaches the engines that there are and those to come; an engine
// that is shared is followed.
func TestReconfigure(t *testing.T) {
	for _, opts := range [][]awsretry.Option{nil, {awsretry.WithSharedEngine()}} {
		s := &server{}
		cfg := applied(t, s, newEngine(t), opts...)
		dynamo, s3 := newClient(cfg, "DynamoDB"), newClient(cfg, "S3")
		_, _, err := dynamo.call(t.Context(), "GetItem", &input{})
		require.NoError(t, err)
		engines, _ := awsretry.EnginesOf(cfg.Retryer())
		require.NoError(t, engines.Reconfigure(engine.WithMaxAttempts(7)))
		for _, c := range []*client{dynamo, s3} {
			_, _, err = c.call(t.Context(), "GetItem", &input{})
			require.NoError(t, err)
		}
		assert.Equal(t, []string{"attempt=1; max=4", "attempt=1; max=7", "attempt=1; max=7"}, s.headers("Amz-Sdk-Request"))
		require.Error(t, engines.Reconfigure(engine.WithMaxAttempts(0)))
	}
}

// Reconfigure reaches clients whose attempts come from the config, such as from
// AWS_MAX_ATTEMPTS; what a client or a call says itself it leaves alone.
func TestReconfigureOverConfig(t *testing.T) {
	for _, opts := range [][]awsretry.Option{nil, {awsretry.WithSharedEngine()}} {
		for _, told := range [][]engine.Option{nil, {engine.WithMaxAttempts(6)}} {
			s := &server{}
			cfg := aws.Config{Region: "eu-west-1", HTTPClient: s, RetryMaxAttempts: 6}
			require.NoError(t, awsretry.Apply(&cfg, newEngine(t, told...), opts...))
			engines, _ := awsretry.EnginesOf(cfg.Retryer())
			clients := []*client{newClient(cfg, "DynamoDB"), newClient(cfg, "S3"), newClient(cfg, "S3", func(o *options) { o.retryMaxAttempts = 5 })}
			call := func(fns ...func(*options)) {
				for _, c := range clients {
					_, _, err := c.call(t.Context(), "GetItem", &input{}, fns...)
					require.NoError(t, err)
				}
			}
			call()
			require.NoError(t, engines.Reconfigure(engine.WithMaxAttempts(2)))
			call()
			call(func(o *options) { o.retryMaxAttempts = 9 })
			require.NoError(t, engines.Reconfigure(engine.WithMaxAttempts(8)))
			clients = append(clients, newClient(cfg, "SQS"))
			call()
			var most []string
			for _, h := range s.headers("Amz-Sdk-Request") {
				most = append(most, strings.TrimPrefix(h, "attempt=1; max="))
			}
			assert.Equal(t, strings.Fields("6 6 5  2 2 5  9 9 9  8 8 5 8"), most)
		}
	}
}
