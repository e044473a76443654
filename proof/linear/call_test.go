package linear

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

type callKind uint8

const (
	succeeds callKind = iota
	failsTransient
	failsThrottled
	isAbandoned
	failsForGood
	reconfigures
	isLookedAt
)

const transientTokens, throttlingTokens = 3, 2

// callOp is a step of a client's call, and what it is to the quota.
type callOp struct {
	kind callKind
	n    uint32
	as   bucketOp
}

// caller is a client: it has one call at a time.
type caller struct {
	id    int
	call  engine.Call
	open  bool
	paid  uint32
	retry bool // under way is a retry, granted and perhaps not yet sent
}

// do does a step on the quota of e.
func (c *caller) do(e *engine.Engine, op *callOp) (out bucketOut) {
	if !c.open && op.kind < reconfigures {
		c.call, c.open, c.paid, c.retry = e.Begin(), true, 0, false
	}
	switch op.kind {
	case succeeds:
		c.call.Admit()
		op.as = bucketOp{give, 1}
		if c.retry {
			op.as.n = c.paid
		}
		c.call.Succeed()
		c.open = false
	case failsTransient, failsThrottled:
		class, cost := classify.Transient, uint32(transientTokens)
		if op.kind == failsThrottled {
			class, cost = classify.Throttling, throttlingTokens
		}
		c.call.Admit()
		op.as = bucketOp{tryTake, cost}
		if out.ok = c.call.Fail(engine.Outcome{Class: class}).Reason == engine.ReasonRetry; out.ok {
			c.paid, c.retry = cost, true
		} else {
			c.open = false
		}
	case isAbandoned: // before a retry is sent
		op.as = bucketOp{kind: give}
		if c.retry {
			op.as.n = c.paid
		}
		c.call.Abandon()
		c.open = false
	case failsForGood:
		op.as = bucketOp{kind: give}
		c.call.Admit()
		c.call.Fail(engine.Outcome{})
		c.open = false
	case reconfigures:
		op.as = bucketOp{setCapacity, op.n}
		_ = e.Reconfigure(engine.WithQuota(quotaOf(op.n)))
	case isLookedAt:
		op.as.kind = look
		s := e.Stats()
		out.level, out.capacity = uint32(s.QuotaLevel), uint32(s.QuotaCapacity)
	}
	return out
}

func quotaOf(capacity uint32) engine.Quota {
	return engine.Quota{Capacity: int(capacity), TransientCost: transientTokens, ThrottlingCost: throttlingTokens}
}

func drawCall(r *rand.Rand, client int) (op callOp) {
	op.kind = callKind(r.IntN(5))
	switch r.IntN(8) {
	case 0:
		op.kind = isLookedAt
	case 1, 2:
		op.kind = failsTransient // so that there is something to refuse
	case 3:
		if client == 0 { // one at a time
			op = callOp{kind: reconfigures, n: 5 + r.Uint32N(20)}
		}
	}
	return op
}

// callHistory runs calls on a quota of 12 tokens.
func callHistory(r *rand.Rand, each int, do func(c *caller, op *callOp) bucketOut) (history []timed[bucketOp, bucketOut]) {
	callers := make([]caller, clients)
	for i := range callers {
		callers[i].id = i
	}
	for _, at := range record(scripts(r, each, drawCall), func(client int, op *callOp) bucketOut { return do(&callers[client], op) }) {
		history = append(history, timed[bucketOp, bucketOut]{at.client, at.from, at.to, at.in.as, at.out})
	}
	return history
}

// Every history of calls is one of the quota's exact model (R6): what a step takes
// or gives back it does at one instant, and that is all that it does.
func TestCallsAreLinearizable(t *testing.T) {
	parallel(t)
	overlapping := 0
	for seed := range seeds(count(3000), &overlapping) {
		e, err := engine.New(engine.WithQuota(quotaOf(12)), engine.WithMaxAttempts(1000))
		require.NoError(t, err)
		h := callHistory(rand.New(rand.NewPCG(uint64(seed), 4)), 25, func(c *caller, op *callOp) bucketOut { return c.do(e, op) })
		require.True(t, linearizable(t, exactBucket(tokens{12, 12}), h), "history %d is no history of a quota: %+v", seed, h)
		overlapping += overlaps(h)
	}
	t.Logf("%d operations overlapped another's", overlapping)
	assert.Positive(t, overlapping)
}

// Half of the callers on a quota of their own, and refunds that come twice: found.
func TestWrongCallsAreFound(t *testing.T) {
	parallel(t)
	const most = 20_000
	for name, made := range map[string]func() func(c *caller, op *callOp) bucketOut{
		"a quota for each of two": func() func(c *caller, op *callOp) bucketOut {
			one, _ := engine.New(engine.WithQuota(quotaOf(12)), engine.WithMaxAttempts(1000))
			two, _ := engine.New(engine.WithQuota(quotaOf(12)), engine.WithMaxAttempts(1000))
			return func(c *caller, op *callOp) bucketOut {
				if c.id%2 == 1 {
					return c.do(two, op)
				}
				return c.do(one, op)
			}
		},
		"a refund that comes twice, now and then": func() func(c *caller, op *callOp) bucketOut {
			e, _ := engine.New(engine.WithQuota(quotaOf(12)), engine.WithMaxAttempts(1000))
			var abandoned atomic.Int64
			return func(c *caller, op *callOp) bucketOut {
				twice := c.open && c.retry && op.kind == isAbandoned && abandoned.Inc()%3 == 0
				again := c.paid
				out := c.do(e, op)
				for i := uint32(0); twice && i < again; i++ {
					call := e.Begin() // a first success gives a token
					call.Succeed()
				}
				return out
			}
		},
	} {
		found := 0
		for seed := 1; seed <= most && found == 0; seed++ {
			h := callHistory(rand.New(rand.NewPCG(uint64(seed), 5)), 25, made())
			if !linearizable(t, exactBucket(tokens{12, 12}), h) {
				found = seed
			}
		}
		if assert.Positive(t, found, "%s: not found in %d histories", name, most) {
			t.Logf("%s: found in history %d", name, found)
		}
	}
}
