package engine_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// model is R2.1 and R6 as plainly as they can be written: one lock, one level.
type model struct {
	mu              sync.Mutex
	level, capacity int
	attempts        int
	cost            map[classify.Class]int
}

// modelCall is a call on the model.
type modelCall struct {
	attempt, paid int
	unsent, over  bool
}

func (m *model) fail(c *modelCall, class classify.Class) engine.Reason {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.over {
		return engine.ReasonNonRetryable
	}
	cost, retryable := m.cost[class]
	switch {
	case !retryable:
		c.over = true
		return engine.ReasonNonRetryable
	case c.attempt >= m.attempts:
		c.over = true
		return engine.ReasonMaxAttempts
	case m.level < cost:
		c.over = true
		return engine.ReasonQuota
	}
	m.level -= cost
	c.paid, c.unsent = cost, true
	c.attempt++
	return engine.ReasonRetry
}

func (m *model) succeed(c *modelCall) {
	m.mu.Lock()
	defer m.mu.Unlock()
	back := c.paid
	if c.attempt == 1 {
		back = 1
	}
	if !c.over {
		m.level = min(m.level+back, m.capacity)
	}
	c.over = true
}

func (m *model) abandon(c *modelCall) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !c.over && c.unsent {
		m.level = min(m.level+c.paid, m.capacity)
	}
	c.over = true
}

// pair is the same call on both.
type pair struct {
	real  engine.Call
	model modelCall
}

// apply does one operation on both and says where they differ.
func apply(e *engine.Engine, m *model, p *pair, operation uint8) error {
	switch operation % 8 {
	case 0, 1:
		p.real.Succeed()
		m.succeed(&p.model)
	case 2:
		p.real.Abandon()
		m.abandon(&p.model)
	case 3, 4:
		p.real.Admit()
		p.model.unsent = false
	default:
		class := classify.Class(operation % 8 % 5 % 3)
		got, want := p.real.Fail(engine.Outcome{Class: class}).Reason, m.fail(&p.model, class)
		if got != want {
			return fmt.Errorf("Fail(%v) = %v, model %v", class, got, want)
		}
	}
	if got := level(e); got != m.level {
		return fmt.Errorf("level %d, model %d", got, m.level)
	}
	return nil
}

func newPair(tb testing.TB, attempts, tokens int) (*engine.Engine, *model) {
	e := newEngine(tb, engine.WithMaxAttempts(attempts), engine.WithTokens(tokens))
	return e, &model{
		level: tokens, capacity: 500, attempts: attempts,
		cost: map[classify.Class]int{classify.Transient: 14, classify.Throttling: 5},
	}
}

// Two million random operations on calls that overlap agree with the model,
// token for token (R2.1, R6).
func TestAgainstModel(t *testing.T) {
	operations := 2_000_000
	if testing.Short() {
		operations = 200_000
	}
	rng := rand.New(rand.NewPCG(2, 1))
	const calls = 64
	var open [calls]*pair
	e, m := newPair(t, 4, 500)
	for i := range operations {
		k := rng.IntN(calls)
		if open[k] == nil || open[k].model.over && rng.IntN(4) > 0 {
			open[k] = &pair{real: e.Begin(), model: modelCall{attempt: 1}}
		}
		operation := uint8(rng.IntN(8))
		if i/20_000%2 == 1 && operation < 2 { // every other stretch is an outage
			operation = 5
		}
		if err := apply(e, m, open[k], operation); err != nil {
			t.Fatalf("operation %d: %v", i, err)
		}
	}
}

// FuzzOperations reads operations, two bytes each (call, operation), and holds
// the engine against the model after every one.
func FuzzOperations(f *testing.F) {
	f.Add(uint8(3), uint16(500), []byte{0, 5, 0, 3, 0, 6, 0, 0})
	f.Add(uint8(1), uint16(0), []byte{0, 5, 1, 0, 1, 0, 0, 2})
	f.Add(uint8(9), uint16(30), []byte{0, 6, 0, 2, 0, 2, 1, 6, 1, 3, 1, 2, 2, 7})
	f.Fuzz(func(t *testing.T, attempts uint8, tokens uint16, script []byte) {
		e, m := newPair(t, int(attempts)%16+1, int(tokens)%501)
		var open [8]*pair
		for ; len(script) >= 2; script = script[2:] {
			k := script[0] % 8
			if open[k] == nil || script[0]&0x80 != 0 {
				open[k] = &pair{real: e.Begin(), model: modelCall{attempt: 1}}
			}
			require.NoError(t, apply(e, m, open[k], script[1]))
		}
	})
}
