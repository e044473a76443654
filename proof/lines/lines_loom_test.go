//go:build reprise_loom

package main

import (
	"cmp"
	"flag"
	"os"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/loom"
	"github.com/reprise-go/reprise/internal/stripe"
	"github.com/reprise-go/reprise/proof/internal/hot"
)

var update = flag.Bool("update", false, "rewrite "+touchesFile)

// lineBytes is what processors move: 64 on amd64, though they fetch them in pairs.
const lineBytes = 64

// TestLines counts, for each path, the words that one operation writes and reads,
// by running it once on each of two processors and comparing the lines they touch.
//
// What is not a word of internal/atomic is not counted: a sync.Pool is a
// processor's own, and so is what lies in it, the jitter's generators; plain
// memory that two write would be a race, which the race detector finds.
func TestLines(t *testing.T) {
	// Counters have two cells then, and two handles made one after the other do not meet.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var all []touches
	for _, path := range hot.Paths() {
		all = append(all, touched(t, path))
	}
	if *update {
		require.NoError(t, os.WriteFile(touchesFile, []byte(format(all)), 0o644))
	}
	text, err := os.ReadFile(touchesFile)
	require.NoError(t, err)
	before, err := parseTouches(string(text))
	require.NoError(t, err)
	for i, now := range all {
		require.Less(t, i, len(before), "%s has no row in %s", now.path, touchesFile)
		assert.Equal(t, before[i], now, "a path that writes more shared words gets slower with every core; see %s", touchesFile)
	}
	assert.Len(t, before, len(all))
	for _, now := range all {
		t.Logf("%+v", now)
	}
}

// touched runs the path in a bubble: a limiter's timers do not fire meanwhile.
func touched(t *testing.T, path hot.Path) (least touches) {
	synctest.Test(t, func(t *testing.T) {
		loop := path.Make()
		var runs []touches
		for range 9 {
			var by [2][]access
			for processor := range by {
				by[processor] = accesses(t, processor, func() { loop(1) })
			}
			runs = append(runs, sharedBy(path.Name, by[0], by[1]))
		}
		runs = runs[1:] // the first makes what a processor needs
		// The least is what most operations do, where a few do more.
		least = slices.MinFunc(runs, func(a, b touches) int {
			return cmp.Or(a.sharedWrites-b.sharedWrites, a.ownWrites-b.ownWrites, a.sharedReads-b.sharedReads)
		})
		if !path.Rare {
			for _, run := range runs {
				assert.Equal(t, least, run, "every operation does the same")
			}
		}
	})
	return least
}

func accesses(t *testing.T, processor int, body func()) (all []access) {
	recorded, err := loom.Record(processor, body)
	require.NoError(t, err)
	for _, a := range recorded {
		all = append(all, access{a.Address() / lineBytes, a.Write})
	}
	return all
}

// The promises of the package comments.
func TestPromisedLines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	by := make(map[string]touches)
	for _, path := range hot.Paths() {
		by[path.Name] = touched(t, path)
	}
	for path, want := range map[string]touches{
		"call-success":                {sharedReads: 1},
		"do-success":                  {sharedReads: 1},
		"run-success":                 {sharedReads: 1},
		"call-success/hooks=failures": {sharedReads: 1},
		"do-success/hooks=failures":   {sharedReads: 1},
		"bucket-credit/level=full":    {sharedReads: 1},
		"bucket-take/level=empty":     {sharedReads: 1},
	} {
		got := by[path]
		got.path = ""
		assert.Equal(t, want, got, path)
	}
	// A hook that counts successes costs one add on the processor's own line.
	counting := by["do-success/hooks=counting"]
	assert.Zero(t, counting.sharedWrites)
	assert.Equal(t, 1, counting.ownWrites)
	for _, path := range []string{"adaptive/throttled=never", "group-look-up", "http-success", "do-success/hooks=success"} {
		assert.Zero(t, by[path].sharedWrites, path)
	}
}

// The count sees a write that both make, one that each makes in its own cell, and
// words that are two and lie on one line.
func TestLinesAreTold(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	count := stripe.New()
	striped := touched(t, hot.Path{Name: "x", Make: func() func(int) { return func(int) { count.Add() } }})
	assert.Equal(t, touches{path: "x", ownWrites: 1}, striped)
	for name, want := range map[string]touches{"word/of=core": {path: "word/of=core", sharedWrites: 1, hottest: 1, sharedReads: 1}} {
		for _, path := range hot.Paths() {
			if path.Name == name {
				assert.Equal(t, want, touched(t, path))
			}
		}
	}
	neighbours := sharedBy("x", []access{{1, true}, {1, true}, {2, true}, {3, false}}, []access{{1, false}, {3, true}})
	assert.Equal(t, touches{path: "x", sharedWrites: 2, hottest: 2, sharedReads: 1, ownWrites: 1}, neighbours)
}
