package faulty

import (
	"fmt"
	"strings"
)

// Outage says when, as shares of the run, everything fails: from Start for
// Length, and then less and less over Recovery. The zero value is no outage.
type Outage struct{ Start, Length, Recovery float64 }

// DefaultOutage fails for a quarter of the run and leaves a quarter of it to
// show the quota come back.
const DefaultOutage = "30%+25%+20%"

// Phase is a stretch of a run.
type Phase uint8

// The phases in the order in which a run passes them. Without an outage a run
// is all [Before].
const (
	Before     Phase = iota // the mix as it is
	During                  // everything fails
	Recovering              // failures go back to the mix, linearly
	After                   // the mix as it is
	Phases     = iota
)

var phaseNames = [Phases]string{"before", "outage", "recovery", "after"}

// String is the name of p, such as "outage".
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return "unknown"
}

// ParseOutage reads "START+LENGTH" or "START+LENGTH+RECOVERY", each a share
// as in [ParseShare] and together at most 100 %; "none" is no outage.
func ParseOutage(text string) (Outage, error) {
	if strings.TrimSpace(text) == "none" {
		return Outage{}, nil
	}
	parts := strings.Split(text, "+")
	if len(parts) < 2 || len(parts) > 3 {
		return Outage{}, fmt.Errorf("%q is not START+LENGTH or START+LENGTH+RECOVERY, such as 30%%+25%%+20%%, or none", text)
	}
	var shares [3]float64
	for i, part := range parts {
		share, err := ParseShare(part)
		if err != nil {
			return Outage{}, err
		}
		shares[i] = share
	}
	o := Outage{shares[0], shares[1], shares[2]}
	if sum := o.Start + o.Length + o.Recovery; sum > 1+1e-9 {
		return Outage{}, fmt.Errorf("start, length and recovery add up to %s of the run: at most 100%%", percent(sum))
	}
	return o, nil
}

// String is o as [ParseOutage] reads it.
func (o Outage) String() string {
	if o == (Outage{}) {
		return "none"
	}
	return percent(o.Start) + "+" + percent(o.Length) + "+" + percent(o.Recovery)
}

// At is the phase at the given share of the run, and how much of the outage is
// in force: 1 in the outage, 0 outside, in between while recovering.
func (o Outage) At(progress float64) (Phase, float64) {
	end := o.Start + o.Length
	switch {
	case o.Length == 0 && o.Recovery == 0, progress < o.Start:
		return Before, 0
	case progress < end:
		return During, 1
	case progress < end+o.Recovery:
		return Recovering, 1 - (progress-end)/o.Recovery
	default:
		return After, 0
	}
}
