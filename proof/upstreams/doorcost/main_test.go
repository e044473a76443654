package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test's binary is its own gateway, as the command is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == gatewayWord {
		fail(serveGateway(os.Args[2:]))
		return
	}
	os.Exit(m.Run())
}

// A run as short as it can be: its numbers mean nothing: a busy machine
// may show any.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{"-blocks=1", "-connections=4", "-paced=1", "-rate=200", "-last=100ms", "-json"}, &out, io.Discard))
	var r report
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Len(t, r.Doors, len(targets))
	for i, c := range r.Doors {
		assert.Equal(t, targets[i].kind, c.Door)
		require.Len(t, c.Figures, 8)
		for _, f := range c.Figures {
			assert.LessOrEqual(t, f.Low, f.High, f.Name)
		}
		assert.Positive(t, c.Figures[0].Bare)
		assert.Positive(t, c.Figures[1].Door)
		assert.Contains(t, []string{"yes", "no", "undecided"}, c.Figures[2].Held, "%+v", c.Figures[2])
		assert.Equal(t, "allocations", c.Figures[3].Name)
	}
	var table bytes.Buffer
	require.NoError(t, r.print(&table))
	assert.Contains(t, table.String(), "fasthttp")
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{{"-blocks=0"}, {"-connections=0"}, {"-paced=-1"}, {"-rate=0"}, {"-last=0s"}, {"-last=11s"}, {"more"}, {"-unknown"}} {
		assert.Error(t, run(args, io.Discard, io.Discard), "%v", args)
	}
	assert.Error(t, serveGateway([]string{"-kind=none"}), "no socket, no gateway")
}

func TestReadWrk(t *testing.T) {
	const good = "Running 1s test\n  1 threads\n  26105 requests in 1.10s, 9.36MB read\nRequests/sec:  23735.67\nTransfer/sec: 8MB\n"
	n, rate, err := readWrk([]byte(good))
	require.NoError(t, err)
	assert.Equal(t, 26105, n)
	assert.Equal(t, 23735.67, rate)
	for _, bad := range []string{"", "unable to connect", good + "  Non-2xx or 3xx responses: 7\n", good + "  Socket errors: connect 0, read 3, write 0, timeout 0\n"} {
		_, _, err := readWrk([]byte(bad))
		assert.Error(t, err, bad)
	}
}

func TestInterval(t *testing.T) {
	count := func(n int) (list []float64) {
		for i := range n {
			list = append(list, float64(n-i))
		}
		return list
	}
	// Of tables of the binomial distribution with p = 1/2.
	for n, want := range map[int][2]float64{1: {1, 1}, 5: {1, 5}, 6: {1, 6}, 8: {1, 8}, 9: {2, 8}, 10: {2, 9}, 12: {3, 10}, 20: {6, 15}, 30: {10, 21}} {
		low, high := interval(count(n))
		assert.Equal(t, want, [2]float64{low, high}, "%d numbers", n)
	}
	assert.Equal(t, 2.5, median(count(4)))
	assert.Equal(t, 2.0, median(count(3)))
}

func TestAgainst(t *testing.T) {
	assert.Equal(t, "yes", figure{Low: -1, High: 2}.against(2).Held)
	assert.Equal(t, "no", figure{Low: 2.1, High: 3}.against(2).Held)
	assert.Equal(t, "undecided", figure{Low: 1, High: 3}.against(2).Held)
	same := block{bare: [2]round{{cpu: 100}, {cpu: 300}}, door: [2]round{{cpu: 110}, {cpu: 310}}}
	f := compare("", "", []block{same}, func(r round) float64 { return r.cpu }, gained)
	assert.Equal(t, figure{Bare: 200, Door: 210, Added: f.Added, Low: f.Low, High: f.High}, f)
	assert.InDelta(t, 5, f.Added, 1e-9)
}
