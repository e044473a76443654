package linear

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/atomicbucket"
)

// tokens is R6.1 as plainly as it can be written: the exact model of a bucket.
type tokens struct{ level, capacity uint32 }

func (s tokens) take(n uint32) (tokens, bool) {
	if n > s.level {
		return s, false
	}
	s.level -= n
	return s, true
}

func (s tokens) give(n uint32) tokens {
	s.level = uint32(min(uint64(s.level)+uint64(n), uint64(s.capacity)))
	return s
}

func (s tokens) resize(capacity uint32) tokens {
	return tokens{min(s.level, capacity), capacity}
}

type bucketKind uint8

const (
	tryTake bucketKind = iota
	give
	setCapacity
	look // at level and capacity
	lookLevel
	lookCapacity
	has
	full
	bucketKinds
)

type bucketOp struct {
	kind bucketKind
	n    uint32
}

type bucketOut struct {
	ok              bool
	level, capacity uint32
}

// exactBucket is the sequential model, with no leave to differ from it.
func exactBucket(start tokens) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return start },
		Step: func(state, input, output any) (bool, any) {
			s, op, out := state.(tokens), input.(bucketOp), output.(bucketOut)
			next, want := s, bucketOut{}
			switch op.kind {
			case tryTake:
				next, want.ok = s.take(op.n)
			case give:
				next = s.give(op.n)
			case setCapacity:
				next = s.resize(op.n)
			case look:
				want.level, want.capacity = s.level, s.capacity
			case lookLevel:
				want.level = s.level
			case lookCapacity:
				want.capacity = s.capacity
			case has:
				want.ok = s.level >= op.n
			case full:
				want.ok = s.level == s.capacity
			}
			return out == want, next
		},
	}
}

// bucket is what the model's operations are run on.
type bucket interface {
	TryTake(n uint32) bool
	Give(n uint32)
	SetCapacity(n uint32) error
	Load() (level, capacity uint32)
	Level() uint32
	Capacity() uint32
	Has(n uint32) bool
	Full() bool
}

func doBucket(b bucket, op bucketOp) (out bucketOut) {
	switch op.kind {
	case tryTake:
		out.ok = b.TryTake(op.n)
	case give:
		b.Give(op.n)
	case setCapacity:
		_ = b.SetCapacity(op.n)
	case look:
		out.level, out.capacity = b.Load()
	case lookLevel:
		out.level = b.Level()
	case lookCapacity:
		out.capacity = b.Capacity()
	case has:
		out.ok = b.Has(op.n)
	case full:
		out.ok = b.Full()
	}
	return out
}

// drawBucket draws more changes than looks, on few tokens, so that much collides.
func drawBucket(r *rand.Rand, _ int) bucketOp {
	op := bucketOp{kind: tryTake, n: r.Uint32N(6)}
	switch n := r.IntN(20); {
	case n < 7:
	case n < 12:
		op.kind = give
	case n < 14:
		op = bucketOp{setCapacity, 5 + r.Uint32N(20)}
	case n < 17:
		op.kind = look
	default:
		op.kind = look + bucketKind(r.IntN(int(bucketKinds-look)))
	}
	return op
}

// bucketHistory runs one and reports whether the model has it.
func bucketHistory(t testing.TB, r *rand.Rand, b bucket, start tokens, each int) (ok bool, overlapping int) {
	history := record(scripts(r, each, drawBucket), func(_ int, op *bucketOp) bucketOut { return doBucket(b, *op) })
	return linearizable(t, exactBucket(start), history), overlaps(history)
}

// Every history of the bucket is one of the exact model (R6.1).
func TestBucketIsLinearizable(t *testing.T) {
	parallel(t)
	overlapping, operations := 0, 0
	for seed := range seeds(count(3000), &overlapping) {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		start := tokens{12, 12}
		b, err := atomicbucket.New(start.capacity)
		require.NoError(t, err)
		each := 10 + seed%5*20
		ok, n := bucketHistory(t, r, b, start, each)
		require.True(t, ok, "history %d is no history of a bucket", seed)
		overlapping, operations = overlapping+n, operations+clients*each
	}
	t.Logf("%d of %d operations overlapped another's", overlapping, operations)
	assert.Positive(t, overlapping)
}

// packed is the level and the capacity in one word.
type packed struct{ word atomic.Uint64 }

func (p *packed) state() tokens           { w := p.word.Load(); return tokens{uint32(w), uint32(w >> 32)} }
func (p *packed) set(s tokens)            { p.word.Store(word(s)) }
func (p *packed) swap(old, s tokens) bool { return p.word.CompareAndSwap(word(old), word(s)) }
func word(s tokens) uint64                { return uint64(s.capacity)<<32 | uint64(s.level) }

func (p *packed) TryTake(n uint32) bool {
	for {
		old := p.state()
		next, ok := old.take(n)
		if !ok || p.swap(old, next) {
			return ok
		}
	}
}

func (p *packed) Give(n uint32) {
	for old := p.state(); !p.swap(old, old.give(n)); old = p.state() {
	}
}

func (p *packed) SetCapacity(n uint32) error {
	for old := p.state(); !p.swap(old, old.resize(n)); old = p.state() {
	}
	return nil
}

func (p *packed) Load() (level, capacity uint32) { s := p.state(); return s.level, s.capacity }
func (p *packed) Level() uint32                  { return p.state().level }
func (p *packed) Capacity() uint32               { return p.state().capacity }
func (p *packed) Has(n uint32) bool              { return p.state().level >= n }
func (p *packed) Full() bool                     { s := p.state(); return s.level == s.capacity }

// lostTake stores what it has computed, whatever others did meanwhile.
type lostTake struct{ packed }

func (p *lostTake) TryTake(n uint32) bool {
	next, ok := p.state().take(n)
	runtime.Gosched()
	if ok {
		p.set(next)
	}
	return ok
}

// lostGive gives up a credit whose swap was lost.
type lostGive struct{ packed }

func (p *lostGive) Give(n uint32) {
	old := p.state()
	runtime.Gosched()
	p.swap(old, old.give(n))
}

// lostResize stores a new capacity over what was taken meanwhile.
type lostResize struct{ packed }

func (p *lostResize) SetCapacity(n uint32) error {
	next := p.state().resize(n)
	runtime.Gosched()
	p.set(next)
	return nil
}

// undone adds and takes back what does not fit: for a while there is too much.
type undone struct{ packed }

func (p *undone) Give(n uint32) {
	p.word.Add(uint64(n))
	runtime.Gosched()
	for s := p.state(); s.level > s.capacity && !p.swap(s, tokens{s.capacity, s.capacity}); s = p.state() {
	}
}

// torn looks at the capacity and then at the level.
type torn struct{ packed }

func (p *torn) Load() (level, capacity uint32) {
	capacity = p.Capacity()
	runtime.Gosched()
	return p.Level(), capacity
}

// Buckets that are wrong in the ways lock-free ones are: each is found, and soon,
// because each lets others in where it is wrong. And one that is right, written another
// way, is not.
func TestWrongBucketsAreFound(t *testing.T) {
	parallel(t)
	const most = 1000
	for name, made := range map[string]func() (bucket, *packed){
		"a lost take":               func() (bucket, *packed) { b := new(lostTake); return b, &b.packed },
		"a lost credit":             func() (bucket, *packed) { b := new(lostGive); return b, &b.packed },
		"a lost change of capacity": func() (bucket, *packed) { b := new(lostResize); return b, &b.packed },
		"an add that is undone":     func() (bucket, *packed) { b := new(undone); return b, &b.packed },
		"a torn look":               func() (bucket, *packed) { b := new(torn); return b, &b.packed },
	} {
		found := 0
		for seed := 1; seed <= most && found == 0; seed++ {
			b, state := made()
			state.set(tokens{12, 12})
			if ok, _ := bucketHistory(t, rand.New(rand.NewPCG(uint64(seed), 2)), b, tokens{12, 12}, 50); !ok {
				found = seed
			}
		}
		if assert.Positive(t, found, "%s: not found in %d histories", name, most) {
			t.Logf("%s: found in history %d", name, found)
		}
	}
	for seed := range count(500) {
		b := new(packed)
		b.set(tokens{12, 12})
		ok, _ := bucketHistory(t, rand.New(rand.NewPCG(uint64(seed), 3)), b, tokens{12, 12}, 50)
		require.True(t, ok, seed)
	}
}
