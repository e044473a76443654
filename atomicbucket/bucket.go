package atomicbucket

import (
	"fmt"
	"math"

	"github.com/reprise-go/reprise/internal/atomic"
	"github.com/reprise-go/reprise/internal/invariant"
	"github.com/reprise-go/reprise/internal/pad"
)

// MaxCapacity is the largest capacity of a [Bucket], in tokens.
const MaxCapacity = math.MaxInt32

// Bucket is a retry quota (R6): a level of tokens between 0 and a capacity.
// The zero Bucket has capacity 0 and therefore refuses every retry. A Bucket
// must not be copied after its first use; on 32-bit machines it must lie on an
// 8-byte border, as it does when it was allocated by [New] or leads its struct.
type Bucket struct {
	// word is the capacity and what is missing from it.
	//
	//	bits 63..32  balance   tokens, -capacity..0, signed; level = capacity + balance
	//	bits 31..0   capacity  tokens, 0..MaxCapacity
	//
	// Invariant: -capacity <= balance <= 0, between any two operations.
	// Writers:   TryTake, Give, SetCapacity, each by one CAS computed from one
	//            load; a lost CAS means that another of them succeeded, so the
	//            bucket as a whole moved on, and the loser computes afresh.
	// Ordering:  publishes nothing but itself.
	// Overflow:  balance only falls while the level is at least n, so not below
	//            -capacity >= -MaxInt32, and rises no further than to 0.
	//
	// The balance, not the level, is stored because a healthy bucket is full: the
	// word then is not negative, which needs no second word to compare with, not
	// even a constant, and a credit to a full bucket is a load and nothing else.
	word atomic.Int64

	_ [pad.CacheLine - 8]byte
}

// New returns a full bucket of capacity tokens, in [0, MaxCapacity]; a larger
// one is an error.
func New(capacity uint32) (*Bucket, error) {
	b := new(Bucket)
	if err := b.Init(capacity); err != nil {
		return nil, err
	}
	return b, nil
}

// Init makes b a full bucket of capacity tokens, for buckets that lie inside
// another struct. It must come before any other use of b. The capacity is in
// [0, MaxCapacity]; a larger one is an error and leaves b as it was.
func (b *Bucket) Init(capacity uint32) error {
	if err := checkCapacity(capacity); err != nil {
		return err
	}
	b.word.Store(pack(capacity, 0))
	return nil
}

// TryTake takes n tokens, all or none, and reports whether it did (R6.1). n
// above the capacity never succeeds; n = 0 always does. A refusal only reads.
//
// Lock-free: a failed CAS means that another operation succeeded. Never blocks,
// reads no clock, allocates nothing.
func (b *Bucket) TryTake(n uint32) bool {
	for {
		old := b.word.Load()
		capacity, balance := unpack(old)
		if levelOf(capacity, balance) < n {
			return false
		}
		if b.swap(old, capacity, balance-int32(n)) {
			return true
		}
	}
}

// Has reports whether at least n tokens are there now. It is one load: the
// answer may be old by the time it is read, so only [Bucket.TryTake] grants.
// Wait-free.
func (b *Bucket) Has(n uint32) bool {
	return levelOf(unpack(b.word.Load())) >= n
}

// Full reports whether the level is the capacity; a nil Bucket is not full. One
// load and a comparison. Wait-free.
func (b *Bucket) Full() bool {
	return b != nil && b.word.Load() >= 0
}

// Give puts n tokens back. What does not fit is dropped: the level never rises
// above the capacity (R6.1), whatever n is. On a full bucket it is one load and
// stores nothing.
//
// Lock-free: a failed CAS means that another operation succeeded. Never blocks,
// reads no clock, allocates nothing.
func (b *Bucket) Give(n uint32) {
	if old := b.word.Load(); old < 0 { // not full; small enough to be inlined
		b.giveSlow(old, n)
	}
}

// giveSlow gives to a bucket whose word was old, not full.
//
//go:noinline
func (b *Bucket) giveSlow(old int64, n uint32) {
	for old < 0 && n != 0 {
		capacity, balance := unpack(old)
		if b.swap(old, capacity, int32(min(int64(balance)+int64(n), 0))) {
			return
		}
		old = b.word.Load()
	}
}

// Level returns the tokens that are there, in [0, Capacity]. Wait-free.
func (b *Bucket) Level() uint32 {
	level, _ := b.Load()
	return level
}

// Capacity returns the most tokens the bucket can hold. Wait-free.
func (b *Bucket) Capacity() uint32 {
	_, capacity := b.Load()
	return capacity
}

// Load returns level and capacity as they were at one instant. Wait-free.
func (b *Bucket) Load() (level, capacity uint32) {
	capacity, balance := unpack(b.word.Load())
	return levelOf(capacity, balance), capacity
}

// SetCapacity changes the capacity, in [0, MaxCapacity], while the bucket is in
// use; a larger one is an error and changes nothing. The level stays what it
// is: a larger capacity adds room and no tokens, so that a quota raised in the
// middle of an outage does not hand the outage a second helping; a smaller one
// drops only what it cannot hold. Tokens that are out come back as ever, as far
// as they fit.
//
// Lock-free: a failed CAS means that another operation succeeded. Never blocks,
// reads no clock, allocates nothing.
func (b *Bucket) SetCapacity(capacity uint32) error {
	if err := checkCapacity(capacity); err != nil {
		return err
	}
	for {
		old := b.word.Load()
		kept := min(levelOf(unpack(old)), capacity)
		if b.swap(old, capacity, int32(kept)-int32(capacity)) {
			return nil
		}
	}
}

func (b *Bucket) swap(old int64, capacity uint32, balance int32) bool {
	if invariant.Enabled {
		invariant.Check(balance <= 0 && capacity <= MaxCapacity && levelOf(capacity, balance) <= capacity, "atomicbucket: level outside [0, capacity]")
	}
	return b.word.CompareAndSwap(old, pack(capacity, balance))
}

func levelOf(capacity uint32, balance int32) uint32 {
	return capacity + uint32(balance)
}

func pack(capacity uint32, balance int32) int64 {
	return int64(balance)<<32 | int64(capacity)
}

func unpack(word int64) (capacity uint32, balance int32) {
	return uint32(word), int32(word >> 32)
}

func checkCapacity(capacity uint32) error {
	if capacity > MaxCapacity {
		return fmt.Errorf("reprise/atomicbucket: capacity %d is out of range: want 0 to %d tokens", capacity, MaxCapacity)
	}
	return nil
}
