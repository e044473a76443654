package linear

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// written is a history that is written down, and what the limiter was before.
type written struct {
	start   r8
	history limiterHistory
}

// in adds an operation that runs from one time to another.
func (w *written) in(from, to int64, kind limiterKind, now int64, out limiterOut) {
	w.history = append(w.history, timed[limiterOp, limiterOut]{
		client: len(w.history), from: from, to: to, in: limiterOp{kind: kind, now: now}, out: out,
	})
}

func (w *written) looks(from, to, now int64, s r8) {
	w.in(from, to, snapshot, now, limiterOut{sees: s.look(now)})
}

// hears is s after one response.
func hears(s r8, now int64, throttled bool, counted int) r8 {
	s.heard++
	return s.hear(now, 0, throttled, counted)
}

// quiet is a state in which a success changes no rate before the half second ends at 1 s.
func quiet() r8 {
	p := &prelude{l: newPlain(0, right)}
	p.calm(20)
	return p.s
}

// stormy is one at the floor, in the half second that ends at 8 s.
func stormy() r8 {
	p := &prelude{l: newPlain(0, right)}
	p.calm(60)
	for range 30 {
		p.hear(1e6, true)
	}
	p.hear(7900*ms-p.now, true)
	return p.s
}

const ms = int64(time.Millisecond)

// What the relaxed model lets a history show, and the strict one does not; and what
// lies one step beyond.
func TestRelaxation(t *testing.T) {
	var q, f = quiet(), stormy()
	n := q.heard
	for name, row := range map[string]struct {
		build           func(w *written)
		strict, relaxed bool
	}{
		"in order": {func(w *written) {
			w.start = q
			w.in(0, 1, succeed, 600*ms, limiterOut{})
			w.in(2, 3, succeed, 1100*ms, limiterOut{})
			w.looks(4, 5, 1100*ms, hears(q, 1100*ms, false, n+2))
		}, true, true},

		// The half second's end counts, S counts and is seen to come before, the end takes effect.
		"a success that overlaps the end is not in it": {func(w *written) {
			w.start = q
			w.in(0, 100, succeed, 1100*ms, limiterOut{})
			w.in(10, 20, succeed, 600*ms, limiterOut{})
			w.looks(30, 40, 900*ms, q) // so the end comes later
			w.looks(110, 120, 1100*ms, hears(q, 1100*ms, false, n+1))
		}, false, true},
		"a success from before the end is not in it": {func(w *written) {
			w.start = q
			w.in(0, 1, succeed, 600*ms, limiterOut{})
			w.in(2, 3, succeed, 1100*ms, limiterOut{})
			w.looks(4, 5, 1100*ms, hears(q, 1100*ms, false, n+1))
		}, false, false},
		"a success that overlaps the end is in neither half second": {func(w *written) {
			w.start = q
			first := hears(q, 1100*ms, false, n+1)
			w.in(0, 100, succeed, 1100*ms, limiterOut{})
			w.in(10, 20, succeed, 600*ms, limiterOut{})
			w.looks(110, 120, 1100*ms, first)
			w.in(130, 140, succeed, 1600*ms, limiterOut{})
			w.looks(150, 160, 1600*ms, hears(first, 1600*ms, false, n+2))
		}, false, false},
		"a success that overlaps the end is in both": {func(w *written) {
			w.start = q
			first := hears(q, 1100*ms, false, n+2)
			w.in(0, 100, succeed, 1100*ms, limiterOut{})
			w.in(10, 20, succeed, 600*ms, limiterOut{})
			w.looks(110, 120, 1100*ms, first)
			w.in(130, 140, succeed, 1600*ms, limiterOut{})
			w.looks(150, 160, 1600*ms, hears(first, 1600*ms, false, n+4))
		}, false, false},
		"more are in it than there were": {func(w *written) {
			w.start = q
			w.in(0, 100, succeed, 1100*ms, limiterOut{})
			w.in(10, 20, succeed, 600*ms, limiterOut{})
			w.looks(110, 120, 1100*ms, hears(q, 1100*ms, false, n+3))
		}, false, false},

		// The throttle marks; a success grows from the mark on; the throttle cuts that.
		"a throttle at the floor holds a growth back and cuts it": {func(w *written) {
			w.start = f
			marked := f
			marked.lastThrottle = 7950 * ms
			grown := hears(marked, 12000*ms, false, f.heard+1)
			w.in(0, 100, throttle, 7950*ms, limiterOut{})
			w.in(10, 20, succeed, 12000*ms, limiterOut{})
			w.looks(30, 40, 12000*ms, grown)
			w.looks(110, 120, 12000*ms, hears(grown, 7950*ms, true, f.heard+2))
		}, false, true},
		"it holds back, and its cut is lost": {func(w *written) {
			w.start = f
			marked := f
			marked.lastThrottle = 7950 * ms
			grown := hears(marked, 12000*ms, false, f.heard+1)
			w.in(0, 100, throttle, 7950*ms, limiterOut{})
			w.in(10, 20, succeed, 12000*ms, limiterOut{})
			w.looks(30, 40, 12000*ms, grown)
			beyond := grown
			beyond.level, beyond.takenAt = grown.levelAt(12000*ms), 12000*ms
			w.looks(110, 120, 12001*ms, beyond)
			// That may be: the throttle came first. But not that the growth is from before it.
			w.looks(130, 140, 12001*ms, hears(f, 12000*ms, false, f.heard+1))
		}, false, false},
		"a growth knows a mark of a half second that has not begun": {func(w *written) {
			w.start = f
			marked := f
			marked.lastThrottle = 8050 * ms
			w.in(0, 100, throttle, 8050*ms, limiterOut{})
			w.looks(30, 40, 8060*ms, marked)
			w.looks(50, 60, 8060*ms, f)
		}, false, false},
		"a growth knows a throttle that has not begun": {func(w *written) {
			w.start = f
			marked := f
			marked.lastThrottle = 7950 * ms
			w.in(0, 5, succeed, 12000*ms, limiterOut{})
			w.looks(6, 8, 12000*ms, hears(marked, 12000*ms, false, f.heard+1))
			w.in(10, 20, throttle, 7950*ms, limiterOut{})
		}, false, false},
		"a growth does not know a throttle that has ended": {func(w *written) {
			w.start = f
			w.in(0, 5, throttle, 7950*ms, limiterOut{})
			w.in(10, 20, succeed, 12000*ms, limiterOut{})
			w.looks(30, 40, 12000*ms, hears(f, 12000*ms, false, f.heard+2))
		}, false, false},
		"a mark away from the floor": {func(w *written) {
			w.start = hears(f, 12000*ms, false, f.heard+1)
			marked := w.start
			marked.lastThrottle = 12100 * ms
			w.in(0, 100, throttle, 12100*ms, limiterOut{})
			w.looks(10, 20, 12200*ms, marked)
		}, false, false},

		"one token, one admission": {func(w *written) {
			w.start = f
			w.start.level, w.start.takenAt = 1, 8000*ms
			w.in(0, 100, acquire, 8000*ms, limiterOut{})
			w.in(0, 100, acquire, 8000*ms, limiterOut{wait: 2 * time.Second})
		}, true, true},
		"one token, two admissions": {func(w *written) {
			w.start = f
			w.start.level, w.start.takenAt = 1, 8000*ms
			w.in(0, 100, acquire, 8000*ms, limiterOut{})
			w.in(0, 100, acquire, 8000*ms, limiterOut{})
		}, false, false},
		"a wait that is too short": {func(w *written) {
			w.start = f
			w.start.level, w.start.takenAt = 0.5, 8000*ms
			w.in(0, 100, acquire, 8000*ms, limiterOut{wait: 999 * time.Millisecond})
		}, false, false},
		"a cut is lost": {func(w *written) {
			w.start = hears(q, 1100*ms, true, n+1)
			w.in(0, 100, throttle, 1200*ms, limiterOut{})
			w.in(0, 100, throttle, 1200*ms, limiterOut{})
			w.looks(110, 120, 1200*ms, hears(w.start, 1200*ms, true, n+2))
		}, false, false},
	} {
		w := new(written)
		row.build(w)
		h := slices.Clone(w.history).bound(w.start.heard)
		assert.Equal(t, row.strict, linearizable(t, modelOf(w.start, 0, false), h), "%s: strict", name)
		assert.Equal(t, row.relaxed, linearizable(t, modelOf(w.start, 0, true), h), "%s: relaxed", name)
	}
}
