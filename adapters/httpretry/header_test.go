package httpretry_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// R9: the attempt's number on every attempt, one id for all of them, another for
// the next call; the caller's request keeps its headers.
func TestAWSHeaders(t *testing.T) {
	e := newEngine(t, engine.WithClock(noSleep{}))
	ids := make(map[string]bool)
	for range 2 {
		b := statuses(503)
		req := get(t, t.Context())
		req.Header.Set("X-Own", "1")
		resp, err := newTransport(t, e, httpretry.WithBase(b), httpretry.WithAWSHeaders()).RoundTrip(req)
		require.NoError(t, err)
		require.Len(t, b.sent, 3)
		id := b.sent[0].header.Get("amz-sdk-invocation-id")
		assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, id)
		for i, sent := range b.sent {
			assert.Equal(t, http.Header{
				"X-Own":                 {"1"},
				"Amz-Sdk-Request":       {fmt.Sprintf("attempt=%d; max=3", i+1)},
				"Amz-Sdk-Invocation-Id": {id},
			}, sent.header)
		}
		assert.Equal(t, http.Header{"X-Own": {"1"}}, req.Header)
		assert.Equal(t, "attempt=3; max=3", resp.Request.Header.Get("amz-sdk-request"))
		assert.False(t, ids[id])
		ids[id] = true
	}
}

// An id that the request has is one for all attempts already; a request without
// a header map gets one.
func TestAWSHeadersKept(t *testing.T) {
	b := statuses(503, 200)
	req := get(t, t.Context())
	req.Header.Set("amz-sdk-invocation-id", "own")
	transport := newTransport(t, newEngine(t, engine.WithClock(noSleep{})), httpretry.WithBase(b), httpretry.WithAWSHeaders())
	_, err := transport.RoundTrip(req)
	require.NoError(t, err)
	for _, sent := range b.sent {
		assert.Equal(t, "own", sent.header.Get("amz-sdk-invocation-id"))
	}
	req.Header = nil
	_, err = transport.RoundTrip(req)
	require.NoError(t, err)
	assert.Len(t, b.sent[2].header, 2)
	assert.Nil(t, req.Header)
}
