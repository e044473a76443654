package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A short run shows what the long one does: the engine wastes neither the
// caller's time nor its tokens on retries that cannot come in time.
func TestCompare(t *testing.T) {
	l := load{calls: 300, perSecond: 200, deadline: 50 * time.Millisecond}
	says, ours, err := withEngine(t.Context(), l)
	require.NoError(t, err)
	theirs, err := withSDK(t.Context(), l)
	require.NoError(t, err)
	for _, r := range []report{ours, theirs} {
		assert.Len(t, append(r.succeeded, r.failed...), l.calls, r.name)
		assert.NotEmpty(t, r.succeeded, r.name)
		assert.NotEmpty(t, r.failed, r.name)
		assert.Positive(t, r.rejected, r.name)
		assert.GreaterOrEqual(t, r.requests, l.calls, r.name)
	}
	assert.Greater(t, ours.tokens, theirs.tokens)
	assert.Contains(t, says, "because no retry fitted before the deadline")
	assert.Contains(t, table(l, ours, theirs), "tokens left of 500")
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := compare(ctx, load{calls: 1, perSecond: 1, deadline: time.Second})
	require.Error(t, err)
}
