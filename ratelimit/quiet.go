package ratelimit

import (
	"math"

	"github.com/reprise-go/reprise/internal/atomic"
)

// quiet tells successes that they change nothing until a half second ends, where
// neither admissions nor answers write: in the page's word they would wait for
// what an admission on another processor has just written, to learn no more.
type quiet struct {
	// word is the end of the latest half second of which that was said.
	//
	//	bits 63..1  border     nanoseconds since New, the end of a half second
	//	bit  0      withdrawn  it is not so any more, and will not be again
	// Invariant: never decreases; while it is a border that is not withdrawn, the
	//            state is flat and of the half second that ends there.
	// Writers:   say and withdraw, by a CAS upward; a lost CAS means that another
	//            raised it, and it is compared afresh.
	// Ordering:  said after the state that it tells of is published, withdrawn
	//            before another is: who finds it withdrawn too early only looks at
	//            the state. Since a border is withdrawn for good, nobody who was
	//            stopped on his way to say it says it too late.
	// Overflow:  the last border is below 2^61.
	word atomic.Int64
}

// never is no border.
const never = math.MinInt64

// holds reports whether a success at now changes nothing.
func (q *quiet) holds(nowNanos int64) bool {
	word := q.word.Load()
	return word&1 == 0 && nowNanos < word>>1
}

// say is for who has seen or published a flat state of the half second that ends
// at border.
func (q *quiet) say(border int64) {
	if border != never {
		q.raise(border << 1)
	}
}

// withdraw is for who is about to replace such a state.
func (q *quiet) withdraw(border int64) {
	if border != never {
		q.raise(border<<1 | 1)
	}
}

func (q *quiet) raise(to int64) {
	for old := q.word.Load(); old < to && !q.word.CompareAndSwap(old, to); {
		old = q.word.Load()
	}
}
