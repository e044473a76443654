package linear

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
)

// plain is a limiter that is one pointer to the model's state and a compare-and-swap:
// slow, and right unless it has a fault.
type plain struct {
	state atomic.Pointer[r8]
	phase int64
	fault fault
	heard atomic.Int64 // for uncounted
}

type fault uint8

const (
	right        fault = iota
	mintedToken        // an admission is stored, whatever was taken meanwhile
	lostCut            // a response is stored, whatever came meanwhile
	lateTaking         // an admission that was computed before a cut is taken after it
	countedTwice       // a response counts again each time that it tries again
	uncounted          // responses are counted by a load and a store
	backward           // an instant before the latest admission becomes the latest
	shared             // who asks for a state that is being replaced gets a piece of each
)

func newPlain(phase int64, f fault) *plain {
	p := &plain{phase: phase, fault: f}
	p.state.Store(new(r8))
	return p
}

// letOthersIn makes a fault show soon, also where little runs side by side.
func (p *plain) letOthersIn() {
	if p.fault != right {
		runtime.Gosched()
	}
}

func (p *plain) acquire(now int64) time.Duration {
	for {
		old := p.state.Load()
		p.letOthersIn()
		if !old.enabled {
			return 0
		}
		level := old.levelAt(now)
		if level < 1 {
			return max(1, time.Duration((1-level)/old.fill*1e9)+time.Duration(max(old.changeAt-now, 0)))
		}
		next := old.admit(now)
		switch p.fault {
		case mintedToken:
			p.state.Store(&next)
			return 0
		case lateTaking:
			for {
				stands := p.state.Load()
				after := stands.admit(now)
				if p.state.CompareAndSwap(stands, &after) {
					return 0
				}
			}
		case backward:
			if now < old.takenAt {
				next.takenAt = max(now, old.changeAt) // and what has come since then comes once more
			}
		}
		if p.state.CompareAndSwap(old, &next) {
			return 0
		}
	}
}

func (p *plain) update(now int64, throttled bool) {
	counted := p.heard.Load() + 1
	for tries := 1; ; tries++ {
		old := p.state.Load()
		p.letOthersIn()
		start := *old
		start.heard++
		switch p.fault {
		case countedTwice:
			start.heard = old.heard + tries
		case uncounted:
			p.heard.Store(counted)
			start.heard = int(counted)
		}
		next := start.hear(now, p.phase, throttled, start.heard)
		if p.fault == lostCut {
			p.state.Store(&next)
			return
		}
		if p.state.CompareAndSwap(old, &next) {
			return
		}
	}
}

func (p *plain) look(now int64) sees {
	s := *p.state.Load()
	p.letOthersIn()
	if p.fault == shared {
		newer := *p.state.Load()
		s.level, s.takenAt, s.changeAt = newer.level, newer.takenAt, newer.changeAt
	}
	return s.look(now)
}

// Limiters that are wrong in the ways lock-free ones are: the relaxed model finds
// each. One that is right passes the strict one.
func TestWrongLimitersAreFound(t *testing.T) {
	parallel(t)
	const most, each = 2000, 15
	for name, f := range map[string]fault{
		"a minted token":                 mintedToken,
		"a lost cut":                     lostCut,
		"an admission that lands late":   lateTaking,
		"a response that counts twice":   countedTwice,
		"responses that are not counted": uncounted,
		"time that runs backward":        backward,
		"a look at two states":           shared,
	} {
		found := 0
		for seed := 1; seed <= most && found == 0; seed++ {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(f)))
			phase := r.Int64N(1e9)
			start, h := weathers[seed%len(weathers)].run(r, newPlain(phase, f), phase, each)
			if search(modelOf(start, phase, true), h, time.Second) == porcupine.Illegal {
				found = seed
			}
		}
		if assert.Positive(t, found, "%s: not found in %d histories", name, most) {
			t.Logf("%s: found in history %d", name, found)
		}
	}
	for seed := range count(1000) {
		r := rand.New(rand.NewPCG(uint64(seed), 77))
		phase := r.Int64N(1e9)
		w := weathers[seed%len(weathers)]
		start, h := w.run(r, newPlain(phase, right), phase, each)
		require.True(t, linearizable(t, modelOf(start, phase, false), h), "%s, history %d: %s", w.name, seed, h)
	}
}
