//go:build reprise_loom

package ratelimit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/loom"
)

// A sweep beside all that others do to the line drops nobody who waits, in any
// order: whoever waits is still found behind the head, and the first of them was
// called. Before it there is one who waits and two who have given up behind.
func TestLoomSweep(t *testing.T) {
	type world struct {
		l     *Limiter
		first Waiter
		join  [3]Waiter // by a thread each
	}
	type body = func(w *world, thread int)
	sweep := func(w *world, _ int) { w.l.queue.sweep() }
	stay := func(w *world, thread int) { w.join[thread] = w.l.Wait() }
	pass := func(w *world, _ int) { w.l.Wait().Leave() }
	serve := func(w *world, _ int) { w.first.Leave() }
	for name, bodies := range map[string][]body{
		"one joins":               {sweep, stay},
		"one joins and leaves":    {sweep, pass},
		"the first leaves":        {sweep, serve},
		"two sweep":               {sweep, sweep},
		"two sweep, one joins":    {sweep, sweep, stay},
		"the first leaves, join":  {sweep, serve, stay},
		"one comes, one only now": {sweep, pass, stay},
		"two sweep, all leave":    {sweep, sweep, func(w *world, thread int) { pass(w, thread); serve(w, thread) }},
	} {
		trial := func() loom.Trial {
			w := &world{l: cut(1)()}
			w.first = w.l.Wait()
			gone, too := w.l.Wait(), w.l.Wait()
			gone.Leave()
			too.Leave()
			trial := loom.Trial{Check: func() error { return w.l.queue.holds(append(w.join[:], w.first)) }}
			for i, body := range bodies {
				trial.Threads = append(trial.Threads, func() { body(w, i) })
			}
			return trial
		}
		o := loom.Options{}
		if len(bodies) > 2 {
			o = loom.Options{Bounded: true, Preemptions: 2}
		}
		r, err := loom.Explore(o, trial)
		require.NoError(t, err, name)
		assert.True(t, r.Complete, name)
		t.Logf("%s: %v; %+v", name, r, o)
	}
}

// holds says what is wrong with a line that these and nobody else wait in, if they
// have not left.
func (q *queue) holds(all []Waiter) error {
	waiting := map[*place]bool{}
	for _, w := range all {
		if w.place != nil && w.place.state.Load() != gone {
			waiting[w.place] = true
		}
	}
	if got := q.waiting.Load(); got != int64(len(waiting)) {
		return fmt.Errorf("%d places are counted, %d are there", got, len(waiting))
	}
	first := true
	for n := q.head.Load().next.Load(); n != nil; n = n.next.Load() {
		if n.state.Load() == gone {
			continue
		}
		if !waiting[n.place] {
			return fmt.Errorf("place %d is in line twice, or nobody's", n.ticket)
		}
		delete(waiting, n.place)
		if first && n.state.Load() != called {
			return fmt.Errorf("place %d is the first and was not called", n.ticket)
		}
		first = false
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%d who wait are not in line", len(waiting))
	}
	return nil
}
