package record

import "time"

const (
	firstSlotLength = 10 * time.Millisecond
	// maxSlots bounds a series: 20 s at the first slot length, and each
	// doubling of the slot length doubles that.
	maxSlots = 2000
)

// Slot is what happened in one stretch of a run.
type Slot struct {
	Succeeded, Stopped    uint64 // calls that ended
	Transient, Throttling uint64 // retries granted, by class
	Offered               uint64 // calls begun
	Sent, Throttled       uint64 // attempts sent, and those that were throttled
	Lowest, Highest, Last int    // quota level
	// FillRate and MeasuredRate are the send limiter's at the slot's last sample,
	// per second; 0 while it limits nothing.
	FillRate, MeasuredRate float64
	Samples                int // how often levels and rates were read; 0 if the slot was skipped
}

// join adds what the later slot b saw.
func (a *Slot) join(b Slot) {
	a.Succeeded += b.Succeeded
	a.Stopped += b.Stopped
	a.Transient += b.Transient
	a.Throttling += b.Throttling
	a.Offered += b.Offered
	a.Sent += b.Sent
	a.Throttled += b.Throttled
	if b.Samples > 0 {
		a.FillRate, a.MeasuredRate = b.FillRate, b.MeasuredRate
	}
	switch {
	case b.Samples == 0:
	case a.Samples == 0:
		a.Lowest, a.Highest, a.Last = b.Lowest, b.Highest, b.Last
	default:
		a.Lowest, a.Highest, a.Last = min(a.Lowest, b.Lowest), max(a.Highest, b.Highest), b.Last
	}
	a.Samples += b.Samples
}

// Series is the course of a run in slots of one length. A run that outlasts
// the slots has them joined in pairs, so its memory is bounded. The zero value
// is an empty series.
type Series struct {
	SlotLength time.Duration
	Slots      []Slot
}

// add puts what happened since the sample before, which was at the time since,
// where it belongs. If the sampler was late and that is several slots, the
// counts are spread evenly over them, which is the best that can be known; the
// level counts in the last of them.
func (s *Series) add(since, elapsed time.Duration, slot Slot) {
	if s.SlotLength == 0 {
		s.SlotLength = firstSlotLength
	}
	for elapsed/s.SlotLength >= maxSlots {
		s.halve()
	}
	i := int(elapsed / s.SlotLength)
	for len(s.Slots) <= i {
		s.Slots = append(s.Slots, Slot{})
	}
	first := min(int(since/s.SlotLength)+1, i)
	for at := first; at < i; at++ {
		s.Slots[at].join(slot.take(uint64(i - at + 1)))
	}
	s.Slots[i].join(slot)
}

// take moves one part in n of the counts out of s.
func (s *Slot) take(n uint64) Slot {
	part := Slot{
		Succeeded: s.Succeeded / n, Stopped: s.Stopped / n, Transient: s.Transient / n, Throttling: s.Throttling / n,
		Offered: s.Offered / n, Sent: s.Sent / n, Throttled: s.Throttled / n,
	}
	s.Succeeded -= part.Succeeded
	s.Stopped -= part.Stopped
	s.Transient -= part.Transient
	s.Throttling -= part.Throttling
	s.Offered -= part.Offered
	s.Sent -= part.Sent
	s.Throttled -= part.Throttled
	return part
}

func (s *Series) halve() {
	half := (len(s.Slots) + 1) / 2
	for i := range half {
		joined := s.Slots[2*i]
		if 2*i+1 < len(s.Slots) {
			joined.join(s.Slots[2*i+1])
		}
		s.Slots[i] = joined
	}
	s.Slots = s.Slots[:half]
	s.SlotLength *= 2
}

// Columns joins the slots into at most n columns of equal length, and returns
// that length. n is at least 1.
func (s *Series) Columns(n int) ([]Slot, time.Duration) {
	group := max((len(s.Slots)+n-1)/n, 1)
	columns := make([]Slot, 0, n)
	for i := 0; i < len(s.Slots); i += group {
		var column Slot
		for _, slot := range s.Slots[i:min(i+group, len(s.Slots))] {
			column.join(slot)
		}
		columns = append(columns, column)
	}
	return columns, time.Duration(group) * s.SlotLength
}
