package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each client gets something done, and the service throttles.
func TestCompare(t *testing.T) {
	var out strings.Builder
	l := load{perSecond: 200, latency: time.Millisecond, workers: 8, lasts: 300 * time.Millisecond, window: 20 * time.Millisecond}
	require.NoError(t, compare(t.Context(), &out, l))
	for _, c := range clients(l.window) {
		assert.Contains(t, out.String(), "| "+c.name+" |")
	}
	assert.NotContains(t, out.String(), "| 0 | 0 |", out.String())

	r, err := run(t.Context(), clients(l.window)[1], l)
	require.NoError(t, err)
	assert.Positive(t, r.rejected)
	assert.Equal(t, r.sent-r.rejected, max(r.sent-r.rejected, len(r.took)), "what succeeded was admitted")
}

func TestBadLoad(t *testing.T) {
	for _, l := range []load{{}, {perSecond: 1, workers: 1}, {perSecond: 1, workers: 1, lasts: time.Hour}, {perSecond: 0, workers: 1, lasts: time.Second}} {
		require.ErrorContains(t, compare(t.Context(), new(strings.Builder), l), "want a rate of 1 or more")
	}
}
