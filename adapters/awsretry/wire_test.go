package awsretry_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// R3.10: a signature refused for the clock's sake is retried with the clock set
// right, and the client remembers.
func TestClockSkew(t *testing.T) {
	skewed := func(code string, ahead time.Duration) answer {
		a := fail(403, code)
		a.header = http.Header{"Date": {time.Now().Add(ahead).UTC().Format(http.TimeFormat)}}
		return a
	}
	run := func(t *testing.T, config func(*server) aws.Config) (headers []string, skew time.Duration, err error) {
		s := &server{script: []answer{skewed("RequestTimeTooSkewed", 10*time.Minute), {status: 200, body: "ok", header: http.Header{"Date": {time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat)}}}}}
		c := newClient(config(s), "S3")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _, err = c.call(ctx, "GetItem", &input{})
		return s.headers("Amz-Sdk-Request"), time.Duration(c.skew.Load()), err
	}
	var want []string
	synctest.Test(t, func(t *testing.T) {
		headers, skew, err := run(t, func(s *server) aws.Config { return aws.Config{HTTPClient: s} })
		require.NoError(t, err)
		require.Len(t, headers, 2)
		require.Contains(t, headers[1], "ttl=") // which the SDK sends once it knows a skew
		require.Greater(t, skew, 9*time.Minute)
		want = headers
	})
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		e := newEngine(t)
		headers, skew, err := run(t, func(s *server) aws.Config { return config(s, e) })
		require.NoError(t, err)
		assert.EqualValues(t, 1, e.Stats().TransientRetries)
		assert.Zero(t, e.Stats().Stops, "what is retried has not stopped")
		assert.Equal(t, want, headers)
		assert.Greater(t, skew, 9*time.Minute)
	})
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		for code, ahead := range map[string]time.Duration{"AccessDeniedException": 0, "SignatureDoesNotMatch": 4 * time.Minute, "ValidationException": time.Hour} {
			s := &server{script: []answer{skewed(code, ahead)}}
			_, _, err := newClient(config(s, newEngine(t)), "DynamoDB").call(t.Context(), "GetItem", &input{})
			require.Error(t, err)
			assert.Len(t, s.seen(), 1, code)
		}
	})
}

// R3.10: the client of a service module that keeps no skew corrects the retries
// of the call all the same, and no later call.
func TestClockSkewThatNobodyKeeps(t *testing.T) {
	run := func(t *testing.T, config func(*server) aws.Config) []string {
		ahead := http.Header{"Date": {time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat)}}
		refused := fail(403, "RequestTimeTooSkewed")
		refused.header = ahead
		s := &server{script: []answer{refused, {status: 200, body: "ok", header: ahead}}}
		c := newClient(config(s), "S3", func(o *options) { o.oldHeader, o.oldSkew = true, true })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 2 {
			_, _, err := c.call(ctx, "GetItem", &input{})
			require.NoError(t, err)
		}
		return s.headers("Amz-Sdk-Request")
	}
	var want []string
	synctest.Test(t, func(t *testing.T) {
		want = run(t, func(s *server) aws.Config { return aws.Config{HTTPClient: s} })
		require.Len(t, want, 3)
		require.Contains(t, want[1], "ttl=")
		require.NotContains(t, want[2], "ttl=")
	})
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		assert.Equal(t, want, run(t, func(s *server) aws.Config { return config(s, newEngine(t)) }))
	})
}

// A body that cannot be sent again: the service's error comes back, and no token
// is taken.
func TestBodyThatCannotRewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{script: []answer{fail(503, "Busy")}}
		e := newEngine(t, engine.WithTokens(100))
		c := newClient(applied(t, s, e, awsretry.WithSharedEngine()), "S3")
		once := io.MultiReader(strings.NewReader("once"))
		_, _, err := c.call(t.Context(), "PutObject", &input{}, func(o *options) { o.body = once })
		assert.Equal(t, []string{"OperationError", "APIError Busy", "ResponseError 503"}, types(err))
		require.ErrorIs(t, err, engine.ErrNotReplayable)
		require.ErrorContains(t, err, "cannot be sent again")
		assert.Equal(t, 100, e.Stats().QuotaLevel)
		assert.Len(t, s.seen(), 1)
	})
}

func TestBodyIsRewound(t *testing.T) {
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		s := &server{script: []answer{fail(503, "x"), fail(503, "x")}}
		body := strings.NewReader("..whole")
		_, _ = body.Seek(2, io.SeekStart)
		_, _, err := newClient(config(s, newEngine(t)), "S3").call(t.Context(), "PutObject", &input{}, func(o *options) { o.body = body })
		require.NoError(t, err)
		require.Len(t, s.seen(), 3)
		for _, r := range s.seen() {
			assert.Equal(t, "whole", r.body)
		}
	})
}

// A body cut short is transient, in the SDK final.
func TestHalfABody(t *testing.T) {
	inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
		s := &server{script: []answer{{status: 200, cut: true}, {status: 500, cut: true}}}
		out, _, err := newClient(config(s, newEngine(t)), "S3").call(t.Context(), "GetObject", &input{})
		require.NoError(t, err)
		assert.Equal(t, "ok", out)
		assert.Len(t, s.seen(), 3)
	})
}

// A wrong CRC-32 is transient; the SDK logs it and hands the body on.
func TestChecksum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong := answer{status: 200, body: "damaged", header: http.Header{"X-Amz-Crc32": {"1"}}}
		right := answer{status: 200, body: "ok", header: http.Header{"X-Amz-Crc32": {fmt.Sprint(crc32.ChecksumIEEE([]byte("ok")))}}}
		s := &server{script: []answer{wrong, right}}
		c := newClient(applied(t, s, newEngine(t)), "DynamoDB", func(o *options) { o.checksum = true })
		out, metadata, err := c.call(t.Context(), "GetItem", &input{})
		require.NoError(t, err)
		assert.Equal(t, "ok", out)
		require.Len(t, results(metadata), 2)
		assert.Contains(t, results(metadata)[0], "retryable=true retried=true")

		// DisableValidateResponseChecksum: nobody looks.
		s.script = []answer{wrong}
		out, _, err = newClient(applied(t, s, newEngine(t)), "DynamoDB").call(t.Context(), "GetItem", &input{})
		require.NoError(t, err)
		assert.Equal(t, "damaged", out)

		// Nor for another Retryer.
		s.script = []answer{wrong}
		out, _, err = c.call(t.Context(), "GetItem", &input{}, func(o *options) { o.retryer = aws.NopRetryer{} })
		require.NoError(t, err)
		assert.Equal(t, "damaged", out)

		// What is cut short was cut short, whatever its sum.
		s.always = answer{status: 200, cut: true, header: wrong.header}
		_, _, err = c.call(t.Context(), "GetItem", &input{})
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.NotContains(t, err.Error(), "CRC-32")
	})
}

// R5.2: what is too large for any integer is too large, and not absent.
func TestRetryAfterTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{script: []answer{after(fail(503, "x"), "99999999999999999999")}}
		start := time.Now()
		_, _, err := newClient(applied(t, s, newEngine(t, engine.WithSource(fastbackoff.Fixed(0.5)))), "S3").call(t.Context(), "GetObject", &input{})
		require.NoError(t, err)
		assert.Equal(t, 5*time.Second+25*time.Millisecond, time.Since(start))
	})
}
