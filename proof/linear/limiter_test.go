package linear

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/ratelimit"
)

type limiterKind uint8

const (
	acquire limiterKind = iota
	succeed
	throttle
	snapshot
)

type limiterOp struct {
	kind  limiterKind
	after int64 // nanoseconds that pass before
	now   int64 // the caller's instant, which it read when it began

	// What the relaxations allow this operation, by what overlaps it.
	least, most int     // responses that a half second's end may have counted so far
	marks       []int64 // instants of throttles
}

func (op limiterOp) response() bool { return op.kind == succeed || op.kind == throttle }

type limiterOut struct {
	wait time.Duration
	sees sees
}

// limiter is what the model's operations are run on; instants are nanoseconds since it began.
type limiter interface {
	acquire(now int64) time.Duration
	update(now int64, throttled bool)
	look(now int64) sees
}

// real is the one that this is about.
type real struct {
	l     *ratelimit.Limiter
	start time.Time
}

func newReal(phase int64) *real {
	start := time.Unix(1_000_000_000, phase)
	return &real{ratelimit.New(start), start}
}

func (r *real) acquire(now int64) time.Duration  { return r.l.AcquireNanos(now) }
func (r *real) update(now int64, throttled bool) { r.l.UpdateNanos(now, throttled) }
func (r *real) look(now int64) sees {
	s := r.l.SnapshotAt(r.start.Add(time.Duration(now)))
	return sees{s.Enabled, s.FillRate, s.MeasuredRate, s.Capacity, s.Level, s.SinceThrottle}
}

func doLimiter(l limiter, op *limiterOp) (out limiterOut) {
	switch op.kind {
	case acquire:
		out.wait = l.acquire(op.now)
	case succeed, throttle:
		l.update(op.now, op.kind == throttle)
	case snapshot:
		out.sees = l.look(op.now)
	}
	return out
}

// steps returns what may come after s: nothing if the answer cannot be.
func (s r8) steps(op limiterOp, out limiterOut, phase int64, relaxed bool) (after []any) {
	if op.kind == acquire {
		if next, ok := s.acquires(op.now, out.wait); ok {
			after = append(after, next)
		}
		return after
	}
	knowing := []r8{s}
	if relaxed && s.floor() {
		for _, mark := range op.marks {
			// None is made in a half second that has not begun.
			if mark > s.lastThrottle && !s.ends(mark, phase) {
				knows := s
				knows.lastThrottle = mark
				knowing = append(knowing, knows)
			}
		}
	}
	if op.kind == snapshot {
		for _, knows := range knowing {
			if knows.look(op.now).near(out.sees) {
				return []any{s} // it changes nothing
			}
		}
		return nil
	}
	for _, s := range knowing {
		s.heard++
		least, most := s.heard, s.heard
		if relaxed {
			least, most = max(op.least, s.counted+1), op.most
			if !s.ends(op.now, phase) {
				most = least // no half second ends
			}
		}
		for counted := least; counted <= most; counted++ {
			after = append(after, s.hear(op.now, phase, op.kind == throttle, counted))
		}
	}
	return after
}

// modelOf is the sequential model, strict or relaxed.
func modelOf(start r8, phase int64, relaxed bool) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{start} },
		Step: func(state, input, output any) []any {
			return state.(r8).steps(input.(limiterOp), output.(limiterOut), phase, relaxed)
		},
		Equal: func(a, b any) bool { return a.(r8).same(b.(r8)) },
	}
	return model.ToModel()
}

type limiterHistory []timed[limiterOp, limiterOut]

// bound notes for each response what the relaxations allow it, heard being the
// responses before the history.
func (h limiterHistory) bound(heard int) limiterHistory {
	for i := range h {
		op := &h[i].in
		op.least, op.most, op.marks = heard, heard, nil
		for j := range h {
			other := &h[j]
			switch {
			case !other.in.response():
			case i == j:
				op.least++
				op.most++
			case other.to < h[i].from:
				op.least++
				op.most++
			case other.from <= h[i].to:
				op.most++
				if other.in.kind == throttle {
					op.marks = append(op.marks, other.in.now)
				}
			}
		}
	}
	return h
}

// weather is what is going on in a history.
type weather struct {
	name    string
	before  func(p *prelude)
	pause   int64 // nanoseconds between operations, at most
	weights [4]int
}

// prelude brings a limiter and the model into a state, one step at a time.
type prelude struct {
	l     limiter
	s     r8
	phase int64
	now   int64
}

func (p *prelude) hear(pause int64, throttled bool) {
	p.now += pause
	p.l.update(p.now, throttled)
	p.s.heard++
	p.s = p.s.hear(p.now, p.phase, throttled, p.s.heard)
}

func (p *prelude) calm(n int) {
	for range n {
		p.hear(1e6, false)
	}
	p.hear(halfSecond, false)
}

var weathers = []weather{
	{"admissions and answers", func(p *prelude) { p.calm(20); p.hear(1e6, true) }, 60e6, [4]int{8, 6, 1, 4}},
	{"never throttled before", func(p *prelude) { p.calm(20) }, 60e6, [4]int{5, 10, 1, 6}},
	{"the first of all", func(*prelude) {}, 60e6, [4]int{4, 8, 2, 6}},
	{"one instant", func(p *prelude) { p.calm(60); p.hear(1e6, true) }, 1e5, [4]int{6, 4, 4, 2}},
	{"flat, half seconds end", func(p *prelude) { p.calm(100); p.hear(3e9, false); p.hear(3e9, false) }, 30e6, [4]int{2, 14, 0, 4}},
	{"storm at the floor", func(p *prelude) {
		p.calm(20)
		for range 30 {
			p.hear(1e6, true)
		}
	}, 60e6, [4]int{3, 2, 10, 3}},
	{"leaving the floor", func(p *prelude) {
		p.calm(60)
		for range 30 {
			p.hear(1e6, true)
		}
		p.now += 1e9
	}, 300e6, [4]int{3, 8, 3, 4}},
}

func (w weather) draw(r *rand.Rand, _ int) limiterOp {
	n := r.IntN(w.weights[0] + w.weights[1] + w.weights[2] + w.weights[3])
	op := limiterOp{after: 1 + r.Int64N(w.pause)}
	for n >= w.weights[op.kind] {
		n -= w.weights[op.kind]
		op.kind++
	}
	return op
}

// run runs one history in a weather, and then asks, when all is quiet, what came of it.
func (w weather) run(r *rand.Rand, l limiter, phase int64, each int) (start r8, h limiterHistory) {
	p := &prelude{l: l, s: r8{}, phase: phase}
	w.before(p)
	var clock atomic.Int64
	clock.Store(p.now)
	h = record(scripts(r, each, w.draw), func(_ int, op *limiterOp) limiterOut {
		op.now = clock.Add(op.after)
		return doLimiter(l, op)
	})
	for _, op := range []limiterOp{{kind: snapshot}, {kind: acquire}, {kind: succeed, after: halfSecond}, {kind: snapshot}, {kind: succeed, after: halfSecond}, {kind: snapshot}} {
		op.now = clock.Add(op.after)
		at := timed[limiterOp, limiterOut]{client: clients, in: op, from: int64(time.Since(began))}
		at.out = doLimiter(l, &at.in)
		at.to = int64(time.Since(began))
		h = append(h, at)
	}
	return p.s, h.bound(p.s.heard)
}

// Every history of the limiter is one of the relaxed model, and hardly any needs it.
func TestLimiterIsLinearizable(t *testing.T) {
	parallel(t)
	for i, w := range weathers {
		t.Run(w.name, func(t *testing.T) {
			overlapping, relaxed, histories := 0, 0, 0
			const each = 15
			for seed := range seeds(count(1500), &overlapping) {
				histories++
				r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
				phase := r.Int64N(1e9)
				start, h := w.run(r, newReal(phase), phase, each)
				overlapping += overlaps(h)
				verdict, strict := verdictOf(start, phase, h)
				require.Equal(t, porcupine.Ok, verdict, "history %d: %s", seed, h)
				if !strict {
					relaxed++
				}
			}
			t.Logf("%d of %d operations overlapped another's, %d of %d histories need the relaxed model", overlapping, histories*clients*each, relaxed, histories)
			assert.Positive(t, overlapping)
		})
	}
}

// verdictOf reports what the models say of a history, and whether the strict one has it.
// Nothing tells early that an order is wrong, so that to find that there is none may
// take long in the one model, and to find one in the other: they take turns.
func verdictOf(start r8, phase int64, h limiterHistory) (verdict porcupine.CheckResult, strict bool) {
	for _, limit := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second} {
		if search(modelOf(start, phase, false), h, limit) == porcupine.Ok {
			return porcupine.Ok, true
		}
		if verdict = search(modelOf(start, phase, true), h, limit); verdict != porcupine.Unknown {
			break
		}
	}
	return verdict, false
}

func (h limiterHistory) String() string {
	sorted := slices.Clone(h)
	slices.SortFunc(sorted, func(a, b timed[limiterOp, limiterOut]) int { return int(a.from - b.from) })
	text := ""
	for _, at := range sorted {
		text += fmt.Sprintf("\n%d..%d client %d: %s at %d", at.from-sorted[0].from, at.to-sorted[0].from, at.client,
			[]string{"acquire", "succeed", "throttle", "look"}[at.in.kind], at.in.now)
		switch at.in.kind {
		case acquire:
			text += fmt.Sprintf(": %d", at.out.wait)
		case snapshot:
			text += fmt.Sprintf(": %+v", at.out.sees)
		}
	}
	return text
}
