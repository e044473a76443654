//go:build reprise_loom

package atomicbucket_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/atomicbucket"
	"github.com/reprise-go/reprise/internal/loom"
)

// What threads do with a bucket, step by step in every order. Its result is what
// the caller was told.
type bucketOp = func(b *atomicbucket.Bucket) any

func take(n uint32) bucketOp { return func(b *atomicbucket.Bucket) any { return b.TryTake(n) } }

func give(n uint32) bucketOp {
	return func(b *atomicbucket.Bucket) any { b.Give(n); return nil }
}

func resize(n uint32) bucketOp { return func(b *atomicbucket.Bucket) any { return b.SetCapacity(n) } }

func look(b *atomicbucket.Bucket) any {
	level, capacity := b.Load()
	return fmt.Sprint(level, "/", capacity)
}

// refund takes and gives back what it took.
func refund(n uint32) bucketOp {
	return func(b *atomicbucket.Bucket) any {
		if b.TryTake(n) {
			b.Give(n)
			return true
		}
		return false
	}
}

// bucketHistory begins with level tokens of capacity.
func bucketHistory(capacity, level uint32, threads ...[]bucketOp) loom.History[*atomicbucket.Bucket] {
	h := loom.History[*atomicbucket.Bucket]{
		New: func() *atomicbucket.Bucket {
			b, err := atomicbucket.New(capacity)
			if err != nil || !b.TryTake(capacity-level) {
				panic("no such bucket")
			}
			return b
		},
		Final: look,
		Always: func(b *atomicbucket.Bucket) error {
			if level, capacity := b.Load(); level > capacity {
				return fmt.Errorf("level %d of %d", int32(level), capacity)
			}
			return nil
		},
	}
	h.Threads = append(h.Threads, threads...)
	return h
}

// bucketHistories are what is run; each is exhaustive.
var bucketHistories = map[string]loom.History[*atomicbucket.Bucket]{
	"the last tokens":      bucketHistory(20, 19, []bucketOp{take(14)}, []bucketOp{take(14)}, []bucketOp{take(5)}),
	"a refusal":            bucketHistory(20, 13, []bucketOp{take(14), look}, []bucketOp{give(1)}),
	"credits at the brim":  bucketHistory(20, 18, []bucketOp{give(1), look}, []bucketOp{give(1), give(1)}, []bucketOp{take(5)}),
	"take and give":        bucketHistory(20, 20, []bucketOp{take(14), give(14)}, []bucketOp{take(5), give(5)}, []bucketOp{give(1)}),
	"refunds":              bucketHistory(20, 14, []bucketOp{take(14), give(14)}, []bucketOp{take(14), give(14)}),
	"smaller, takes":       bucketHistory(20, 20, []bucketOp{resize(10), look}, []bucketOp{take(5), take(5)}),
	"smaller, credits":     bucketHistory(20, 9, []bucketOp{resize(10)}, []bucketOp{give(1), give(1)}, []bucketOp{take(5)}),
	"larger, both":         bucketHistory(20, 20, []bucketOp{resize(40), resize(20)}, []bucketOp{take(14), give(14)}),
	"two sizes":            bucketHistory(20, 15, []bucketOp{resize(10)}, []bucketOp{resize(30)}, []bucketOp{take(5), look}),
	"four threads":         bucketHistory(20, 20, []bucketOp{take(5)}, []bucketOp{take(14)}, []bucketOp{give(5)}, []bucketOp{resize(12)}),
	"a look at everything": bucketHistory(20, 20, []bucketOp{look, look}, []bucketOp{take(14), give(14)}, []bucketOp{resize(10)}),
}

// Every outcome is that of the operations in some order, one after the other.
func TestLoomBucket(t *testing.T) {
	for name, h := range bucketHistories {
		r, err := h.Explore(loom.Options{})
		require.NoError(t, err, name)
		assert.True(t, r.Complete, name)
		t.Logf("%s: %v", name, r)
	}
}

// A goroutine frozen at any step stops nobody: the others end within a few steps
// of their own.
func TestLoomBucketFrozen(t *testing.T) {
	r, err := loom.ExploreFrozen(loom.Options{OwnSteps: 12}, func() loom.Trial {
		b, _ := atomicbucket.New(20)
		return loom.Trial{Threads: []func(){
			func() { refund(14)(b) }, func() { take(5)(b) }, func() { resize(15)(b) },
		}}
	})
	require.NoError(t, err)
	assert.True(t, r.Frozen && r.Complete)
	t.Log(r)
}

// Faults planted in the compare-and-swap of the real bucket: each is found.
func TestLoomBucketFaults(t *testing.T) {
	for name, row := range map[string]struct {
		fault loom.Fault
		in    string
		says  string
	}{
		"lost update": {loom.Fault{Torn: true}, "credits at the brim", "no serial order"},
		// Two get the same tokens.
		"minted token": {loom.Fault{Swap: func(w loom.Word, _ func(old, next uint64) bool, _, next uint64) bool {
			w.Store(next)
			return true
		}}, "the last tokens", "no serial order"},
		"negative level": {loom.Fault{Swap: func(w loom.Word, _ func(old, next uint64) bool, old, next uint64) bool {
			w.Add(next - old) // what was checked may be so no longer
			return true
		}}, "the last tokens", "level -"},
		"torn capacity change": {loom.Fault{Swap: func(_ loom.Word, right func(old, next uint64) bool, old, next uint64) bool {
			const capacity = 1<<32 - 1
			half := old&^capacity | next&capacity
			return right(old, half) && right(half, next)
		}}, "two sizes", ""},
		"double refund": {loom.Fault{Swap: func(w loom.Word, right func(old, next uint64) bool, old, next uint64) bool {
			if right(old, next) {
				return true
			}
			if int64(next) > int64(old) { // a credit
				w.Add(next - old)
			}
			return false // and so once more
		}}, "credits at the brim", ""},
	} {
		r, err := bucketHistories[row.in].Explore(loom.Options{Fault: &row.fault})
		if assert.Error(t, err, name) {
			assert.ErrorContains(t, err, row.says, name)
			t.Logf("%s: found in schedule %d: %.120v", name, r.Schedules, err)
		}
	}
}
