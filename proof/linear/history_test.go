package linear

import (
	"iter"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
)

const clients = 4

// parallel lets more threads run than there may be processors, so that the system
// too stops one in the middle of an operation.
func parallel(t testing.TB) {
	before := runtime.GOMAXPROCS(clients)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// count is how many histories a test runs.
func count(full int) int {
	if testing.Short() {
		return full / 10
	}
	return full
}

// seeds yields a number for each of so many histories, and on a machine that is busy
// with other work, where operations seldom run side by side, for up to a hundred times
// as many, until some have overlapped.
func seeds(histories int, overlapping *int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for seed := 0; seed < histories || *overlapping == 0 && seed < 100*histories; seed++ {
			if !yield(seed) {
				return
			}
		}
	}
}

// checkTime bounds one search. A search that does not end is a failure of the test.
const checkTime = 20 * time.Second

var began = time.Now()

// timed is one operation that was run.
type timed[I, O any] struct {
	client   int
	from, to int64 // monotonic nanoseconds
	in       I
	out      O
}

// stride is how many operations a client does before it waits for the others: else
// the first has ended before the last has begun.
const stride = 5

// record runs a script for each client at once, all of one length. do may put into its
// input what only shows while it runs.
func record[I, O any](scripts [][]I, do func(client int, in *I) O) (all []timed[I, O]) {
	own := make([][]timed[I, O], len(scripts))
	var done sync.WaitGroup
	var arrived atomic.Int64
	for c, script := range scripts {
		own[c] = make([]timed[I, O], len(script))
		done.Go(func() {
			for i := range script {
				if i%stride == 0 {
					arrived.Inc()
					for all := int64(len(scripts) * (i/stride + 1)); arrived.Load() < all; {
						runtime.Gosched()
					}
				}
				at := &own[c][i]
				at.client, at.in = c, script[i]
				at.from = int64(time.Since(began))
				at.out = do(c, &at.in)
				at.to = int64(time.Since(began))
			}
		})
	}
	done.Wait()
	for _, ops := range own {
		all = append(all, ops...)
	}
	return all
}

// overlaps counts the operations that overlap one of another client.
func overlaps[I, O any](history []timed[I, O]) (n int) {
	for i := range history {
		for j := range history {
			a, b := &history[i], &history[j]
			if a.client != b.client && a.from <= b.to && b.from <= a.to {
				n++
				break
			}
		}
	}
	return n
}

// search looks for an order.
func search[I, O any](model porcupine.Model, history []timed[I, O], limit time.Duration) porcupine.CheckResult {
	ops := make([]porcupine.Operation, len(history))
	for i, h := range history {
		ops[i] = porcupine.Operation{ClientId: h.client, Input: h.in, Call: h.from, Output: h.out, Return: h.to}
	}
	return porcupine.CheckOperationsTimeout(model, ops, limit)
}

// linearizable reports whether there is an order.
func linearizable[I, O any](t testing.TB, model porcupine.Model, history []timed[I, O]) bool {
	result := search(model, history, checkTime)
	require.NotEqual(t, porcupine.Unknown, result, "the search did not end: %+v", history)
	return result == porcupine.Ok
}

// scripts draws each operations for each client.
func scripts[I any](r *rand.Rand, each int, draw func(r *rand.Rand, client int) I) [][]I {
	all := make([][]I, clients)
	for c := range all {
		for range each {
			all[c] = append(all[c], draw(r, c))
		}
	}
	return all
}
