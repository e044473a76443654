package fastbackoff_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/fastbackoff"
)

func sources() map[string]fastbackoff.Source {
	return map[string]fastbackoff.Source{"shards": new(fastbackoff.Shards), "rand": fastbackoff.Rand{}}
}

// A million draws at each ceiling are uniform over [0, ceiling) (R4; peer faults
// 31, 32 and 46): chi-square over 100 bins, 99 degrees of freedom, whose
// 99.9999 % quantile is about 183. No draw is the ceiling.
func TestUniformAtEachCeiling(t *testing.T) {
	const bins, limit = 100, 183
	draws := 1_000_000
	if testing.Short() {
		draws = 100_000
	}
	schedule := fastbackoff.Default()
	for name, source := range sources() {
		for index := range 10 {
			ceiling := schedule.Ceiling(fastbackoff.Transient, index)
			var counts [bins]int
			var sum float64
			lowest, highest := ceiling, time.Duration(0)
			for range draws {
				delay := schedule.Delay(fastbackoff.Transient, index, source.Uint64())
				counts[int(delay*bins/ceiling)]++ // out of range, and a panic, at the ceiling
				sum += float64(delay)
				lowest, highest = min(lowest, delay), max(highest, delay)
			}
			expected, chi := float64(draws)/bins, 0.0
			for _, n := range counts {
				chi += (float64(n) - expected) * (float64(n) - expected) / expected
			}
			assert.Less(t, chi, float64(limit), "%s, ceiling %v", name, ceiling)
			assert.InDelta(t, 0.5, sum/float64(draws)/float64(ceiling), 0.005, "%s, ceiling %v: mean", name, ceiling)
			assert.Less(t, float64(lowest), 0.001*float64(ceiling))
			assert.Greater(t, float64(highest), 0.999*float64(ceiling))
		}
	}
}

func TestFixed(t *testing.T) {
	for _, row := range []struct {
		share float64
		want  uint64
	}{
		{0, 0}, {-1, 0}, {math.Inf(-1), 0}, {math.NaN(), 0},
		{0.25, 1 << 62}, {0.5, 1 << 63},
		{math.Nextafter(1, 0), math.MaxUint64 - 1<<11 + 1},
		{1, math.MaxUint64}, {2, math.MaxUint64}, {math.Inf(1), math.MaxUint64},
	} {
		assert.Equal(t, row.want, fastbackoff.Fixed(row.share).Uint64(), "share %v", row.share)
	}
}

// Peer fault 34: draws from many goroutines while GOMAXPROCS grows and shrinks
// and the collector empties the pool.
func TestPeerFault34ShardsUnderLoad(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	draws := 50_000
	if testing.Short() {
		draws = 5_000
	}
	var source fastbackoff.Shards
	var workers sync.WaitGroup
	var seen [8]map[uint64]int
	for worker := range seen {
		workers.Go(func() {
			seen[worker] = make(map[uint64]int, draws)
			for range draws {
				seen[worker][source.Uint64()]++
			}
		})
	}
	for i := range 20 {
		runtime.GOMAXPROCS(1 + i%8)
		runtime.GC()
	}
	workers.Wait()
	// 400,000 draws of 32 bits: 18.6 pairs agree by chance (n*n/2^33). A shard
	// used by two goroutines at once, or two shards of one seed, would make
	// thousands.
	all, twice := map[uint64]int{}, 0
	for _, own := range seen {
		for draw, n := range own {
			if all[draw] += n; all[draw] > 1 {
				twice++
			}
		}
	}
	assert.Less(t, twice, 100)
}

// Sixty-four processes that start together draw different first delays: seeds
// do not come from the clock.
func TestProcessesDrawDifferently(t *testing.T) {
	const variable = "REPRISE_TEST_FIRST_DRAW"
	if os.Getenv(variable) != "" {
		fmt.Println("first", new(fastbackoff.Shards).Uint64())
		return
	}
	binary, err := os.Executable()
	require.NoError(t, err)
	const processes = 64
	var outputs [processes]strings.Builder
	var children [processes]*exec.Cmd
	for i := range children {
		children[i] = exec.Command(binary, "-test.run=^TestProcessesDrawDifferently$")
		children[i].Env = append(os.Environ(), variable+"=1")
		children[i].Stdout = &outputs[i]
		require.NoError(t, children[i].Start())
	}
	draws := map[uint64]bool{}
	for i, child := range children {
		require.NoError(t, child.Wait())
		var draw uint64
		_, err := fmt.Sscanf(outputs[i].String(), "first %d", &draw)
		require.NoError(t, err, outputs[i].String())
		draws[draw] = true
	}
	assert.Len(t, draws, processes, "two of 64 draws of 32 bits agree once in two million runs")
}

// Where the clock stands still, as it does in a bubble, generators that were
// seeded from it would all draw the same.
func TestSeedsDoNotComeFromTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const generators = 16
		draws := map[uint64]bool{}
		for range generators {
			draws[new(fastbackoff.Shards).Uint64()] = true
		}
		assert.Len(t, draws, generators, "two of 16 draws of 32 bits agree once in 36 million runs")
	})
}
