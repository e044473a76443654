package path

import (
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/bench/internal/ratio"
)

func TestMain(m *testing.M) {
	FreshMain()
	// The sides come into the same states, with less to show for it.
	learnt = 20 * time.Microsecond
	os.Exit(m.Run())
}

// Every side runs, on one and on two processors. Those that are in a wrong state
// panic: admitted where they should be refused, or the other way round.
func TestEverySideRuns(t *testing.T) {
	for _, p := range All() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel() // most of the time is spent waiting for limiters' half seconds
			for _, s := range p.Sides {
				if s.Fresh != nil {
					n, elapsed := s.Fresh()
					assert.Equal(t, 512, n)
					assert.Positive(t, elapsed)
					continue
				}
				for _, procs := range []int{1, 2} {
					i := s.New(procs)
					require.Len(t, i.Loops, procs, s.Impl)
					slice := measure.Run(i.Loops, 500)
					assert.Equal(t, 500*procs, slice.N, s.Impl)
				}
			}
		})
	}
}

func TestNames(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := make(map[string]bool)
	for _, p := range All() {
		assert.Regexp(t, name, p.Name)
		assert.NotEmpty(t, p.What, p.Name)
		_, ok := p.Side(p.Ours)
		assert.True(t, ok, "%s has no side called %s", p.Name, p.Ours)
		for _, s := range p.Sides {
			row := fmt.Sprintf("path=%s/impl=%s", p.Name, s.Impl)
			assert.Regexp(t, name, s.Impl)
			assert.False(t, seen[row], row)
			seen[row] = true
		}
	}
}

func TestRatiosAreOfSidesThatAre(t *testing.T) {
	for _, r := range ratio.All {
		p, ok := Find(r.Path)
		require.True(t, ok, r.Name)
		for _, impl := range []string{r.Ours, r.Peer} {
			_, ok := p.Side(impl)
			assert.True(t, ok, "%s: %s", r.Name, impl)
		}
		if r.Base != "" {
			_, ok := p.Side(r.Base)
			assert.True(t, ok, "%s: %s", r.Name, r.Base)
		}
	}
}

// A fresh side runs in a process of its own, which is this test's program again.
func TestRunFresh(t *testing.T) {
	p, ok := Find("classify-first")
	require.True(t, ok)
	for _, s := range p.Sides {
		n, elapsed, err := p.RunFresh(s)
		require.NoError(t, err)
		assert.Equal(t, 512, n)
		assert.Positive(t, elapsed)
	}
	_, _, err := p.RunFresh(Side{Impl: "nobody"})
	assert.ErrorContains(t, err, "nobody")
}

func TestStrangersAreStrangers(t *testing.T) {
	seen := make(map[string]bool)
	for _, err := range strangers() {
		seen[fmt.Sprintf("%T", err)] = true
	}
	assert.Len(t, seen, 512)
}
