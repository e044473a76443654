// Package mono turns instants into nanoseconds since an anchor, by the
// monotonic clock alone: setting the wall clock moves nothing.
package mono

import "time"

// Anchor is the instant from which nanoseconds are counted. The zero Anchor
// lies so far back that every count from it is the largest int64.
type Anchor struct {
	at time.Time
}

// At returns the anchor at t. When t has a monotonic reading, as every
// time.Now has, only monotonic readings count from here on.
func At(t time.Time) Anchor {
	return Anchor{at: t}
}

// Nanos returns the nanoseconds from the anchor to t, negative before it and
// saturated 292 years away from it. If either instant lacks a monotonic reading
// (a virtual clock's instants do), the wall readings are compared. Reads no
// clock.
func (a Anchor) Nanos(t time.Time) int64 {
	return int64(t.Sub(a.at))
}

// Now returns the nanoseconds from the anchor to this instant. It reads the
// monotonic clock and not the wall clock, which is half of what time.Now pays
// (BenchmarkNow).
func (a Anchor) Now() int64 {
	return int64(time.Since(a.at))
}
