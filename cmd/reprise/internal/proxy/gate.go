package proxy

import (
	"context"
	"sync/atomic"
)

// gate counts who is inside, so that somebody can wait until nobody is.
type gate struct {
	inside atomic.Int64
	// empty wakes the one who waits, when the last has left. It holds one wake-up,
	// so that none is lost between a look at inside and the wait.
	empty chan struct{}
}

func newGate() *gate { return &gate{empty: make(chan struct{}, 1)} }

func (g *gate) enter() { g.inside.Add(1) }

func (g *gate) leave() {
	if g.inside.Add(-1) == 0 {
		select {
		case g.empty <- struct{}{}:
		default:
		}
	}
}

// wait returns when nobody is inside, or with ctx's error. One may wait at a time.
func (g *gate) wait(ctx context.Context) error {
	for g.inside.Load() > 0 {
		select {
		case <-g.empty:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
