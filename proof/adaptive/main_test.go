package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What ratelimit's package comment claims, on a part of the grid in a part of the
// time: the service is used to 95 % of what it could take, R8 uses less than 60 %
// of it where a round trip is long for the rate, no more than twice as much is
// throttled, and clients are treated alike.
func TestClaims(t *testing.T) {
	t.Parallel()
	part := []cell{
		{50, 1, 200 * time.Millisecond, 1.2, time.Second},
		{50, 100, 200 * time.Millisecond, 1.5, time.Second},
		{500, 1, 200 * time.Millisecond, 1.2, time.Second},
		{500, 1, 200 * time.Millisecond, 4, 100 * time.Millisecond},
		{500, 100, time.Millisecond, 2, 100 * time.Millisecond},
	}
	if !testing.Short() {
		part = append(part,
			cell{5000, 1, time.Millisecond, 1.5, time.Second},
			cell{5000, 1, 200 * time.Millisecond, 4, 100 * time.Millisecond},
			cell{5000, 100, 200 * time.Millisecond, 1.2, time.Second},
			cell{50000, 1, time.Millisecond, 1.2, time.Second},
		)
	}
	for _, c := range part {
		measured := c.measured()
		switch {
		case c.capacity > 500:
			measured = time.Minute
		case testing.Short(): // a simulation is one goroutine, of which the race detector finds no more in a longer run
			measured /= 5
		}
		var rows [2]row
		for i, p := range policies(recommended) {
			var err error
			rows[i], err = c.run(p, measured)
			require.NoError(t, err)
		}
		published, ours := rows[0], rows[1]
		t.Logf("%+v: %+v, ours %+v", c, published, ours)
		assert.GreaterOrEqual(t, ours.Use, 0.95, "%+v", c)
		assert.LessOrEqual(t, ours.Throttled, 2*published.Throttled, "%+v", c)
		assert.GreaterOrEqual(t, ours.Jain, 0.95, "%+v", c)
		if c.clients == 1 && c.trip > time.Millisecond {
			assert.Less(t, published.Use, 0.6, "%+v", c)
		}
	}
}

// smaller is by how much a service and its load are, under the race detector.
const smaller = 10

// Nothing is worse than under R8 when load and service change.
func TestTroubles(t *testing.T) {
	t.Parallel()
	all := troubles()
	if testing.Short() {
		all = all[:1]
		all[0].Load.Rate /= smaller
		all[0].Server.Throttle.Rate /= smaller
		all[0].Server.Throttle.Burst /= smaller
	}
	for _, s := range all {
		var came [2]after
		for i, p := range policies(recommended) {
			var err error
			came[i], err = s.run(p)
			require.NoError(t, err)
		}
		published, ours := came[0], came[1]
		assert.Greater(t, ours.Success, published.Success-0.001, s.name)
		if s.Faults != nil || s.Load.Swing > 0 { // a start waits for a half second
			assert.LessOrEqual(t, ours.Throttled, 2*published.Throttled, s.name)
		}
		if published.Recovery.Recovered {
			require.True(t, ours.Recovery.Recovered, s.name)
			assert.LessOrEqual(t, ours.Recovery.After, published.Recovery.After, s.name)
		}
	}
}

// Clients that come back from a pause, or from none, use 95 % of the service in the
// first minute, and clients of any kind no less than under R8. Those that were slow
// and not idle may not: ratelimit's package comment.
func TestFirstMinutes(t *testing.T) {
	t.Parallel()
	all := firstMinutes()
	if testing.Short() {
		all = slices.DeleteFunc(all, func(f firstMinute) bool { return f.name != idle.name })[:1]
		all[0].capacity /= smaller
	}
	for _, f := range all {
		var use [2]float64
		for i, p := range policies(recommended) {
			var err error
			use[i], _, err = f.run(p)
			require.NoError(t, err)
		}
		name := fmt.Sprintf("%s, %d clients, %gx", f.name, f.clients, f.load)
		t.Log(name, use)
		if len(f.phases) == 0 || f.phases[len(f.phases)-1].load == 0 {
			assert.GreaterOrEqual(t, use[1], 0.95, name)
		}
		assert.Greater(t, use[1], use[0]-0.01, name)
	}
}

// TABLE.md is what this code makes, as far as its cheapest lines tell. Elsewhere
// than on amd64 the last digits of a float may differ.
func TestTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("TABLE.md")
	require.NoError(t, err)
	grid := cells(50)[:4]
	if testing.Short() {
		grid = grid[:1]
	}
	if runtime.GOARCH != "amd64" {
		grid = nil
	}
	var out strings.Builder
	require.NoError(t, reportGrid(&out, io.Discard, recommended, grid))
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "| 50 |") {
			assert.Contains(t, string(text), line)
		}
	}
	assert.Contains(t, string(text), "The worst of 112:")
}

func TestJain(t *testing.T) {
	assert.InDelta(t, 1, jain([]float64{3, 3, 3}), 1e-12)
	assert.InDelta(t, 0.25, jain([]float64{0, 7, 0, 0}), 1e-12)
	assert.InDelta(t, 0.9, jain([]float64{1, 2}), 1e-12)
	assert.Zero(t, jain([]float64{0, 0}))
}

func TestHistogram(t *testing.T) {
	var h histogram
	assert.Zero(t, h.quantile(0.99))
	for i := range 1000 {
		h.add(time.Duration(i) * time.Millisecond)
	}
	assert.InEpsilon(t, 0.99, h.quantile(0.99).Seconds(), 0.03)
	assert.InEpsilon(t, 0.5, h.quantile(0.5).Seconds(), 0.03)
	assert.Zero(t, h.quantile(0.001), "below a microsecond")
}
