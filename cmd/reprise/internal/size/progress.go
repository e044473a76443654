package size

import "sync/atomic"

// Progress is how far an answer is. How long one takes is not known before: a search
// ends where it finds something, and a simulation that falls short is made again. So
// its share grows ever slower where there is more to do than most often. The zero value
// has not begun; its methods may be called while the answer is looked for.
type Progress struct {
	share atomic.Int64 // in millionths
	what  atomic.Pointer[string]
}

const whole = 1_000_000

// Share is how much is done, 0 to 1; it never falls.
func (p *Progress) Share() float64 { return float64(p.share.Load()) / whole }

// String is what is being done.
func (p *Progress) String() string {
	if what := p.what.Load(); what != nil {
		return *what
	}
	return ""
}

func (p *Progress) end() {
	if p != nil {
		p.share.Store(whole)
	}
}

// The stages, each with the share of the whole where it begins and ends.
var (
	searching        = [2]float64{0, 0.3}
	simulating       = [2]float64{0.3, 0.8}
	simulatingOutage = [2]float64{0.8, 0.9}
	lookingAround    = [2]float64{0.9, 1}
)

// stage is a part of the whole. A nil one is nobody's, and its methods do nothing.
type stage struct {
	progress  *Progress
	low, high float64
}

func (p *Progress) stage(of [2]float64) *stage {
	if p == nil {
		return nil
	}
	return &stage{p, of[0], of[1]}
}

// half takes half of what is left of the stage for what may not be the last.
func (s *stage) half() *stage {
	if s == nil {
		return nil
	}
	first := &stage{s.progress, s.low, (s.low + s.high) / 2}
	s.low = first.high
	return first
}

// show tells how much of the stage is done, 0 to 1, and what is being done.
func (s *stage) show(share float64, what string) {
	if s == nil {
		return
	}
	now := int64((s.low + share*(s.high-s.low)) * whole)
	s.progress.share.Store(max(now, s.progress.share.Load()))
	s.progress.what.Store(&what)
}
