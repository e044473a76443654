package atomicbucket_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/atomicbucket"
	"github.com/reprise-go/reprise/internal/hammer"
)

// Exactly 35 takes of 14, or 100 of 5, win a full bucket, whoever competes
// (R6.5).
func TestHammerWinners(t *testing.T) {
	hammer.OnProcs(t, func(t *testing.T) {
		for cost, want := range map[uint32]int{14: 35, 5: 100} {
			for range 200 {
				b := full(t, 500)
				var winners [8]int
				hammer.Together(len(winners), func(worker int) {
					for b.TryTake(cost) {
						winners[worker]++
					}
				})
				sum := 0
				for _, n := range winners {
					sum += n
				}
				require.Equal(t, want, sum, "cost %d", cost)
			}
		}
	})
}

// A lost race is no refusal: where there are tokens for all, all get theirs
// (R6.1), each credit arrives, and a new capacity is in force when SetCapacity
// returns.
func TestHammerLostRacesAreNoAnswers(t *testing.T) {
	operations := 100_000
	if testing.Short() {
		operations = 10_000
	}
	hammer.OnProcs(t, func(t *testing.T) {
		const workers = 4
		b := full(t, uint32(workers*operations))
		var refused [workers]int
		hammer.Together(workers, func(worker int) {
			for range operations {
				if !b.TryTake(1) {
					refused[worker]++
				}
			}
		})
		assert.Zero(t, refused)
		assert.Zero(t, b.Level())
		hammer.Together(workers, func(int) {
			for range operations {
				b.Give(1)
			}
		})
		assert.EqualValues(t, workers*operations, b.Level())

		missed, stop := 0, atomic.NewBool(false)
		hammer.Together(workers, func(worker int) {
			for worker > 0 && !stop.Load() {
				if b.TryTake(1) {
					b.Give(1)
				}
			}
			for i := 0; worker == 0 && i < 20*operations; i++ {
				capacity := uint32(workers*operations + i%2)
				if b.SetCapacity(capacity) != nil || b.Capacity() != capacity {
					missed++
				}
			}
			stop.Store(true)
		})
		assert.Zero(t, missed)
		assert.EqualValues(t, workers*operations, b.Level())
	})
}

// Peer fault 19: load-then-store accounting loses updates. Whoever takes gives
// the same back, some of it late; at the end the bucket is full again.
func TestPeerFault19HammerConserves(t *testing.T) {
	operations := 100_000
	if testing.Short() {
		operations = 20_000
	}
	hammer.OnProcs(t, func(t *testing.T) {
		b := full(t, 500)
		var taken, given [16]int
		hammer.Together(len(taken), func(worker int) {
			cost := []uint32{14, 5, 1, 100}[worker%4]
			held := 0
			for range operations {
				if b.TryTake(cost) {
					taken[worker] += int(cost)
					held++
				}
				if level := b.Level(); level > 500 {
					panic(fmt.Sprint("level ", level))
				}
				for held > 3 || held > 0 && !b.Has(cost) {
					b.Give(cost)
					given[worker] += int(cost)
					held--
				}
			}
			for ; held > 0; held-- {
				b.Give(cost)
				given[worker] += int(cost)
			}
		})
		for worker := range taken {
			assert.Equal(t, taken[worker], given[worker])
		}
		assert.EqualValues(t, 500, b.Level(), "all that was taken was given back")
	})
}

// Spending without giving back: what is left is what was not taken.
func TestHammerSpends(t *testing.T) {
	hammer.OnProcs(t, func(t *testing.T) {
		const capacity = 1_000_000
		b := full(t, capacity)
		var taken [8]uint32
		hammer.Together(len(taken), func(worker int) {
			cost := uint32(1 + worker)
			for range 20_000 {
				if b.TryTake(cost) {
					taken[worker] += cost
				}
			}
		})
		sum := uint32(0)
		for _, n := range taken {
			sum += n
		}
		assert.EqualValues(t, capacity-sum, b.Level())
	})
}

// The capacity swings between 50 and 500 under load: no reader ever sees a
// level outside [0, capacity], and once it stays at 50 the level is at most 50.
func TestHammerSetCapacity(t *testing.T) {
	swings := 2_000
	if testing.Short() {
		swings = 500
	}
	hammer.OnProcs(t, func(t *testing.T) {
		b := full(t, 500)
		stop := make(chan struct{})
		var workers sync.WaitGroup
		for range 64 {
			workers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if b.TryTake(5) {
						b.Give(5)
					}
					if level, capacity := b.Load(); level > capacity || capacity != 50 && capacity != 500 {
						panic(fmt.Sprintf("level %d of %d", level, capacity))
					}
					runtime.Gosched()
				}
			})
		}
		for i := range swings {
			if b.SetCapacity([]uint32{50, 500}[i%2]) != nil {
				panic("capacity refused")
			}
		}
		require.NoError(t, b.SetCapacity(50))
		assert.LessOrEqual(t, b.Level(), uint32(50))
		close(stop)
		workers.Wait()
		assert.LessOrEqual(t, b.Level(), uint32(50))
	})
}

var _ bucket = (*atomicbucket.Bucket)(nil)
