package main

import (
	"fmt"
	"time"

	"github.com/reprise-go/reprise/ratelimit"
)

// rateBound holds admissions to R8: from the first throttle on, no more than what was in the bucket then and what the
// fill rate has made since. It is exact if time stands still between two looks, but for the look itself.
type rateBound struct {
	begun    bool
	at       time.Duration
	fillRate float64 // tokens/s since at
	allowed  float64 // tokens
	admitted int64   // before it began
}

// look is called between two instants, with all that was ever admitted.
func (b *rateBound) look(now time.Duration, s ratelimit.Stats, admitted int64) error {
	if !s.Enabled {
		return nil
	}
	if !b.begun {
		b.begun, b.allowed, b.admitted = true, s.Level, admitted
	} else {
		b.allowed += b.fillRate * (now - b.at).Seconds()
	}
	b.at, b.fillRate = now, s.FillRate
	if got := float64(admitted - b.admitted); got > b.allowed*(1+1e-9)+1e-6 {
		return fmt.Errorf("%v: %.0f attempts were admitted and R8 allows %.3f", now, got, b.allowed)
	}
	return nil
}
