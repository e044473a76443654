package main

import (
	"container/heap"
	"context"
	"runtime"
	"sync"
	"time"

	"go.uber.org/atomic"
)

// grain is what instants are rounded up to, so that a million sleepers share few of them.
const grain = 20 * time.Millisecond

// nightClock is virtual time for goroutines that sleep: it moves only while all of them do, and then to the next instant
// at which one has to wake.
type nightClock struct {
	nanos atomic.Int64

	mu     sync.Mutex
	awake  int // goroutines that neither sleep nor have ended
	asleep int
	most   int // asleep at once
	nights map[time.Duration]*night
	order  instants      // the keys of nights
	idle   chan struct{} // receives when awake has become 0
}

// night is those who sleep until the same instant.
type night struct {
	sleepers int
	over     bool
	dawn     chan struct{}
}

// groupKey leads from a context to its group.
type groupKey struct{}

// group is goroutines that are cancelled together.
type group struct {
	cancel context.CancelCauseFunc
	asleep int // guarded by the clock's mu
}

func newNightClock(goroutines int) *nightClock {
	return &nightClock{awake: goroutines, nights: make(map[time.Duration]*night), idle: make(chan struct{}, 1)}
}

func (c *nightClock) Now() time.Time { return epoch.Add(c.now()) }

func (c *nightClock) now() time.Duration { return time.Duration(c.nanos.Load()) }

func (c *nightClock) Sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	own, _ := ctx.Value(groupKey{}).(*group)
	n := c.lieDown(d, own)
	select {
	case <-n.dawn:
	case <-ctx.Done():
	case <-wake:
	}
	c.getUp(n, own)
}

func (c *nightClock) lieDown(d time.Duration, own *group) *night {
	c.mu.Lock()
	defer c.mu.Unlock()
	until := (c.now() + min(d, 1000*time.Hour) + grain - 1) / grain * grain
	n := c.nights[until]
	if n == nil {
		n = &night{dawn: make(chan struct{})}
		c.nights[until] = n
		heap.Push(&c.order, until)
	}
	n.sleepers++
	if own != nil {
		own.asleep++
	}
	c.asleep++
	c.most = max(c.most, c.asleep)
	c.rest()
	return n
}

// rest takes one off those awake.
func (c *nightClock) rest() {
	if c.awake--; c.awake == 0 {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

func (c *nightClock) getUp(n *night, own *group) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own != nil {
		own.asleep--
	}
	if !n.over { // else it was counted as awake when the night was over
		n.sleepers--
		c.asleep--
		c.awake++
	}
}

// end is called by a goroutine that will not sleep again.
func (c *nightClock) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest()
}

// settle returns when all sleep or have ended, and none of a group that was cancelled still sleeps. Who was called by the
// limiter's line and has not got up yet counts as asleep, so the others are let run first; were one overlooked, it would
// only be served later.
func (c *nightClock) settle(cancelled *group) {
	for {
		for range 50 {
			runtime.Gosched()
		}
		c.mu.Lock()
		settled := c.awake == 0 && (cancelled == nil || cancelled.asleep == 0)
		c.mu.Unlock()
		if settled {
			return
		}
		<-c.idle
	}
}

// pass ends the next night, and reports whether there was one.
func (c *nightClock) pass() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.order) > 0 {
		next := heap.Pop(&c.order).(time.Duration)
		n := c.nights[next]
		delete(c.nights, next)
		if n.sleepers == 0 { // all were woken by something else
			n.over = true
			continue
		}
		c.nanos.Store(int64(next))
		n.over = true
		c.asleep -= n.sleepers
		c.awake += n.sleepers
		close(n.dawn)
		return true
	}
	return false
}

// instants is a heap.
type instants []time.Duration

func (h instants) Len() int           { return len(h) }
func (h instants) Less(i, j int) bool { return h[i] < h[j] }
func (h instants) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *instants) Push(x any)        { *h = append(*h, x.(time.Duration)) }
func (h *instants) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
