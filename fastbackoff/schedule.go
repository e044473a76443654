package fastbackoff

import (
	"math/bits"
	"time"
)

// Class is the class of the latest failure, as far as a delay depends on it
// (R4.1). Its values equal those of classify.Class; a class without a delay is
// zero.
type Class uint8

// The classes that have a delay.
const (
	Transient  Class = 1 // base [Schedule].Transient
	Throttling Class = 2 // base [Schedule].Throttling
)

// Schedule is how long a retry waits: a random share of
// min(Max, base * 2^index), with the base of the latest failure's class and the
// index of the retry, 0 for the first (R4). It is a plain value; the zero
// Schedule delays nothing, so take [Default] or [DynamoDB] and change that.
type Schedule struct {
	Transient  time.Duration // base after a transient failure; 50 ms (R4.1)
	Throttling time.Duration // base after a throttling failure; 1 s (R4.1)
	Max        time.Duration // the cap, applied before the jitter; 20 s (R4)
}

// Default returns the schedule of R4: 50 ms, 1 s, capped at 20 s.
func Default() Schedule {
	return Schedule{Transient: 50 * time.Millisecond, Throttling: time.Second, Max: 20 * time.Second}
}

// DynamoDB returns the schedule of DynamoDB and DynamoDB Streams (R4.1):
// [Default] with a transient base of 25 ms.
func DynamoDB() Schedule {
	s := Default()
	s.Transient = 25 * time.Millisecond
	return s
}

// Ceiling returns the upper bound, never reached, of the delay before retry
// number index (0 for the first) after a failure of the given class (R4.2).
// It is in [0, Max] for every index: a negative one counts as 0, and none
// overflows. Wait-free, reads no clock.
func (s Schedule) Ceiling(class Class, index int) time.Duration {
	base := s.Transient
	if class == Throttling {
		base = s.Throttling
	} else if class != Transient {
		return 0
	}
	if base <= 0 || s.Max <= 0 {
		return 0
	}
	// base << index <= Max exactly when base <= Max >> index, and that shift
	// cannot overflow.
	shift := uint(max(index, 0))
	if base > s.Max>>shift {
		return s.Max
	}
	return base << shift
}

// Delay returns the share of [Schedule.Ceiling] that draw, uniform over all of
// uint64, stands for: in [0, ceiling), never the ceiling itself (R4). The high
// word of a 128-bit product needs no division, no modulo and no floating point.
// Wait-free, reads no clock.
func (s Schedule) Delay(class Class, index int, draw uint64) time.Duration {
	high, _ := bits.Mul64(uint64(s.Ceiling(class, index)), draw)
	return time.Duration(high)
}
