package ratelimit

import (
	"math"
	"math/bits"
	"time"

	"github.com/reprise-go/reprise/internal/stripe"
)

// R8's constants.
const (
	minFillRate = 0.5  // tokens/s
	minExponent = 1022 // of minFillRate, as float64 has it
	maxFillRate = 1e15
	minCapacity = 1.0 // tokens
	smooth      = 0.8
	beta        = 0.7
	gentleBeta  = 0.85 // ours, of a coalesced cut
	scale       = 0.4

	halfSecond = int64(500 * time.Millisecond)

	// maxNanos bounds what a caller may give as now: 146 years.
	maxNanos = int64(1) << 62
)

// Tokens are counted in ticks, so that the sums are exact and a CAS can carry
// them. A tick is a quarter of a nanotoken: coarser than what float64 arithmetic
// leaves uncertain about a level below a million tokens, finer than what the
// slowest fill rate makes in a nanosecond, and such that a rate times nanoseconds
// is ticks but for a power of two: see [rate.made].
const (
	ticksPerToken = int64(4e9)

	// maxTokens bounds the level; a capacity above it acts like it.
	maxTokens = 1 << 24
	// horizonTokens bounds what one snapshot may make before it is re-based, so
	// that used (59 bits) holds that and the level.
	horizonTokens = 1 << 25
	// roughTokens is where float64 tells tokens no better than to a tick.
	roughTokens = 1 << 20
)

// snapshot is the limiter's state but for the tokens that were taken since it
// was published. Here it is a copy; [slot] is what others see.
type snapshot struct {
	// The allowance line: level + fillRate*(now-atNanos) tokens may have been
	// used by now, and the level never exceeds the capacity, which is
	// max(fillRate, 1): R8.2 makes both from one number.
	atNanos       int64
	level         float64 // tokens, 0..capacity
	fillRate      float64 // tokens/s
	capacityTicks int64   // min(capacity, maxTokens)
	base          int64   // ticks: what the page's used was when the line began
	version       uint64  // of the slot that it was read from

	// The cubic.
	lastMax           float64 // tokens/s
	windowSeconds     float64 // R8.2's K
	lastThrottleNanos int64
	gentle            bool // the last cut was one of [Limiter.ThrottleAt]'s with a window

	// The measured rate. The requests of this bucket so far are the counter's
	// sum plus uncounted, which wraps: it is minus what the sum was at the last
	// border, plus the responses that were published and not put in the counter.
	run       run     // here, where it makes the copy no larger
	measured  float64 // requests/s
	uncounted uint64
	bucket    uint32 // half seconds since the whole second in which the limiter began

	// skip is the sampling mask that [gate] may use in this bucket, as the
	// number of its bits.
	skip    uint8
	enabled bool
	// flat says that a success changes nothing before the next border: the rate is
	// at twice the measured one, which holds it there.
	flat  bool
	floor floor
}

// floor says how throttles find the state at the minimum rate, where another cut
// changes nothing but the time of the last throttle. In a storm every response
// is such a cut, and a word that all of them write would be all that they do.
type floor uint8

const (
	// off: a throttle publishes its cut.
	off floor = iota
	// open: before the next border a throttle only marks its time, in its own
	// cell of the counter, and is done if the snapshot still is the state then.
	// The last throttle is lastThrottleNanos or the latest mark.
	open
	// closed: as open, but nobody marks any more. What needs to know the last
	// throttle closes first and then reads the marks: who marked before is seen,
	// and who comes later sees that it is closed, and publishes.
	closed
)

// lastThrottle returns the last throttle, marks included.
func (s *snapshot) lastThrottle(counts *stripe.Counter) int64 {
	if s.floor == off {
		return s.lastThrottleNanos
	}
	return max(s.lastThrottleNanos, counts.Marked())
}

// seen returns now, raised to the latest instant that the snapshot knows of.
func (s *snapshot) seen(nowNanos int64) (atNanos int64) {
	return max(min(max(nowNanos, 0), maxNanos), s.atNanos, s.lastThrottleNanos)
}

// used returns the ticks that were taken from the line when the word was word.
func (s *snapshot) used(word uint64) int64 {
	return int64(word&usedMask) - s.base
}

// seconds multiplies where a division would be exact: the error is far below a
// tick, and a division is a fifth of an admission.
func seconds(nanos int64) float64 {
	return float64(nanos) * 1e-9
}

// capacity is 0 until the first response, in tokens.
func (s *snapshot) capacity() float64 {
	if s.fillRate == 0 {
		return 0
	}
	return max(s.fillRate, minCapacity)
}

// rate is a fill rate in tokens/s, minFillRate..maxFillRate or 0 at first, as the
// bits of a float64: a line is followed by them alone.
type rate uint64

func rateOf(fillRate float64) rate {
	return rate(math.Float64bits(fillRate))
}

func (r rate) tokens() (fillRate float64) {
	return math.Float64frombits(uint64(r))
}

// span returns for how many nanoseconds a line may be followed at this rate, the
// horizon or half of it away; 0 if it is no rate that R8 makes.
func (r rate) span() uint64 {
	return horizonTokens * 1e9 >> (uint64(r)>>52 - minExponent)
}

// made returns the ticks that come in fewer nanoseconds than 32 spans, rounded down
// and otherwise exact: rate x nanoseconds are nanotokens.
func (r rate) made(nanos uint64) int64 {
	mantissa, shift := r.ticksPerNano()
	hi, lo := bits.Mul64(nanos, mantissa)
	return int64(hi<<(-shift&63) | lo>>(shift&63))
}

// ticksPerNano returns the rate as mantissa / 2^shift, shift 1..51.
func (r rate) ticksPerNano() (mantissa, shift uint64) {
	return uint64(r)&(1<<52-1) | 1<<52, minExponent + 51 - uint64(r)>>52
}

// ticks rounds tokens to the nearest tick.
func ticks(tokens float64) int64 {
	return int64(tokens*float64(ticksPerToken) + 0.5)
}

// allowed returns how many ticks may have been used by now, and false if now
// lies beyond the horizon. Before the snapshot began it is what was there when
// it began: a stale now mints nothing.
func (s *snapshot) allowed(nowNanos int64) (allowed int64, ok bool) {
	allowed = ticks(s.level)
	if nowNanos <= s.atNanos {
		return allowed, true
	}
	r := rateOf(s.fillRate)
	nanos, span := uint64(nowNanos-s.atNanos), r.span()
	if nanos >= span {
		return allowed, span == 0
	}
	return allowed + r.made(nanos), true
}

// until returns the earliest instant at which need ticks are allowed. It is
// exact: the other way round from [rate.made].
func (s *snapshot) until(need int64) (atNanos int64, ok bool) {
	need -= ticks(s.level)
	if need <= 0 {
		return s.atNanos, true
	}
	if rateOf(s.fillRate).span() == 0 {
		return 0, false
	}
	mantissa, shift := rateOf(s.fillRate).ticksPerNano()
	// Less than 2^60 << 51, and the mantissa at least 2^52: the quotient fits.
	nanos, rest := bits.Div64(uint64(need)>>(-shift&63), uint64(need)<<(shift&63), mantissa)
	if rest != 0 {
		nanos++
	}
	return s.atNanos + int64(nanos), true
}

// wait returns the time from now until need ticks are allowed, at least 1 ns.
func (s *snapshot) wait(nowNanos, need int64) time.Duration {
	at, ok := s.until(need)
	if !ok || at < 0 {
		return math.MaxInt64
	}
	return time.Duration(max(at-nowNanos, 1))
}

// refill returns the level now, with used ticks taken, and now itself, raised
// to the latest instant that the state proves to have passed: the snapshot's
// own, or that by which the used tokens had accrued, because whoever took them
// had a later clock than the caller.
func (s *snapshot) refill(nowNanos, used int64) (level float64, atNanos int64) {
	at := max(nowNanos, s.atNanos)
	level = s.level + s.fillRate*seconds(at-s.atNanos)
	if r := rateOf(s.fillRate); level > roughTokens && uint64(at-s.atNanos) < r.span()<<5 {
		level = float64(ticks(s.level)+r.made(uint64(at-s.atNanos))-used) / float64(ticksPerToken)
	} else { // or so much that the bucket is full
		level -= float64(used) / float64(ticksPerToken)
	}
	if level <= 0 {
		if allowed, ok := s.allowed(at); ok && used > allowed {
			at, _ = s.until(used)
		}
		return 0, at
	}
	return min(level, s.capacity(), maxTokens), at
}
