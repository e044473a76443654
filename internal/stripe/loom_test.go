//go:build reprise_loom

package stripe_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/loom"
	"github.com/reprise-go/reprise/internal/stripe"
)

// counts are adds, marks and readers over one counter. A sum is no snapshot: it
// may miss what is added while it is taken and see what is added after. So the
// readers' results are bounds, and only the end is exact.
func counts() loom.Trial {
	c := stripe.New()
	c.Add()
	broken := ""
	look := func(sum uint64, mark int64) (uint64, int64) {
		s, m := c.Sum(), c.Marked()
		if s < sum || s > 5 || m < mark || m > 9 {
			broken = "a reader saw too much, or less than before"
		}
		return s, m
	}
	return loom.Trial{
		Threads: []func(){
			func() { c.Add(); c.Mark(7, 1) },
			func() { c.Mark(9, 2); c.Mark(5, 0) },
			func() { look(look(1, 0)) },
		},
		Check: func() error {
			if broken == "" && (c.Sum() != 5 || c.Marked() != 9) {
				broken = "a count or a mark was lost"
			}
			if broken != "" {
				return assert.AnError
			}
			return nil
		},
	}
}

// With a cell for each thread, and with one for all.
func TestLoomCounter(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, procs := range []int{1, 2} {
		runtime.GOMAXPROCS(procs)
		r, err := loom.Explore(loom.Options{}, counts)
		require.NoError(t, err)
		assert.True(t, r.Complete)
		t.Logf("%d processors: %v", procs, r)
	}
	runtime.GOMAXPROCS(1)
	_, err := loom.Explore(loom.Options{Fault: &loom.Fault{Torn: true}}, counts)
	assert.ErrorIs(t, err, assert.AnError, "a lost count is found")
	r, err := loom.ExploreFrozen(loom.Options{OwnSteps: 20, Schedules: 2000}, counts)
	require.NoError(t, err)
	t.Logf("frozen: %v", r)
}
