package main

import (
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry/proof/faulty"
)

var virtual = flag.Duration("virtual", 0, "print the table for so much virtual time for each client, 0 for none")

// inMemory is on a wire that runs on virtual time.
func inMemory(handler http.Handler) (url string, transport *http.Transport, stop func()) {
	wire, stop := faulty.Serve(handler)
	return "http://dynamodb.test", &http.Transport{DialContext: wire.DialContext}, stop
}

// The table in virtual time, where no client is slowed down by the machine.
func TestVirtual(t *testing.T) {
	l := load{perSecond: 1000, latency: 5 * time.Millisecond, workers: 64, lasts: 500 * time.Millisecond, window: time.Minute}
	out := new(strings.Builder)
	if *virtual > 0 {
		l.lasts = *virtual
		synctest.Test(t, func(t *testing.T) { require.NoError(t, compare(t.Context(), os.Stdout, l, inMemory)) })
		return
	}
	synctest.Test(t, func(t *testing.T) { require.NoError(t, compare(t.Context(), out, l, inMemory)) })
	for _, c := range clients(l.window) {
		assert.Contains(t, out.String(), "| "+c.name+" |")
	}
}

// Over TCP each client gets something done, and the service throttles: on a
// machine that is busy too, for it takes two requests at once of eight.
func TestCompare(t *testing.T) {
	out := new(strings.Builder)
	l := load{perSecond: 20, latency: time.Millisecond, workers: 8, lasts: 300 * time.Millisecond, window: time.Minute}
	require.NoError(t, compare(t.Context(), out, l, overTCP))
	for _, c := range clients(l.window) {
		assert.Contains(t, out.String(), "| "+c.name+" |")
	}
	assert.NotContains(t, out.String(), "| 0 | 0 |", out.String())

	r, err := run(t.Context(), clients(l.window)[1], l, overTCP)
	require.NoError(t, err)
	assert.Positive(t, r.rejected)
	assert.LessOrEqual(t, len(r.took), r.sent-r.rejected, "what succeeded was admitted")
}

func TestBadLoad(t *testing.T) {
	for _, l := range []load{{}, {perSecond: 1, workers: 1}, {perSecond: 1, workers: 1, lasts: time.Hour}, {perSecond: 0, workers: 1, lasts: time.Second}} {
		require.ErrorContains(t, compare(t.Context(), new(strings.Builder), l, overTCP), "want a rate of 1 or more")
	}
}
