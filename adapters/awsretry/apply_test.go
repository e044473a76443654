package awsretry_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

func TestApplyRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{script: []answer{fail(503, "x"), fail(400, "ThrottlingException")}}
		c := newClient(applied(t, s, newEngine(t, engine.WithSource(fastbackoff.Fixed(0.5)))), "DynamoDB")
		start := time.Now()
		out, _, err := c.call(t.Context(), "GetItem", &input{})
		require.NoError(t, err)
		assert.Equal(t, "ok", out)
		assert.Equal(t, 12500*time.Microsecond+time.Second, time.Since(start)) // R4.1: 0.5 x 25 ms, 0.5 x 2 s
		assert.Equal(t, []string{"attempt=1; max=4", "attempt=2; max=4", "attempt=3; max=4"}, s.headers("Amz-Sdk-Request"))
		ids := s.headers("Amz-Sdk-Invocation-Id")
		assert.NotEmpty(t, ids[0])
		assert.Equal(t, []string{ids[0], ids[0], ids[0]}, ids)
	})
}

func TestRetryerRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{script: []answer{fail(503, "x"), fail(400, "ThrottlingException")}}
		e := newEngine(t, engine.WithSource(fastbackoff.Fixed(0.5)), engine.WithService("DynamoDB"), engine.WithTokens(100))
		r, err := awsretry.NewRetryer(e)
		require.NoError(t, err)
		c := newClient(aws0(s, r), "DynamoDB")
		start := time.Now()
		out, _, err := c.call(t.Context(), "GetItem", &input{})
		require.NoError(t, err)
		assert.Equal(t, "ok", out)
		assert.Equal(t, 12500*time.Microsecond+time.Second, time.Since(start))
		assert.Equal(t, []string{"attempt=1; max=4", "attempt=2; max=4", "attempt=3; max=4"}, s.headers("Amz-Sdk-Request"))
		assert.Equal(t, 86, e.Stats().QuotaLevel) // R6: the last retry's 5 come back, the first one's 14 do not
	})
}
