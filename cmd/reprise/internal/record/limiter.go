package record

// Limiter is what became of adaptive mode's send limiter: its state when the
// last call had ended, and what it made the calls do.
type Limiter struct {
	Enabled      bool    `json:"enabled"` // something was throttled, so attempts are limited
	FillRate     float64 `json:"fill_rate"`
	MeasuredRate float64 `json:"measured_rate"`
	Capacity     float64 `json:"capacity"` // tokens
	Level        float64 `json:"level"`    // tokens
	Waiting      int     `json:"waiting"`  // callers in line
	// SinceThrottleMS is null if nothing was throttled.
	SinceThrottleMS *float64 `json:"since_throttle_ms"`

	// CallsEndedWaiting are the calls that ended because the wait would not have
	// fitted before their deadline; CallsNeverSent those that ended, for whatever
	// reason, before their first attempt was sent.
	CallsEndedWaiting uint64 `json:"calls_ended_waiting"`
	CallsNeverSent    uint64 `json:"calls_never_sent"`
	// AdmissionWait is how long the attempts that were sent had waited for it,
	// beyond their backoff.
	AdmissionWait Latency `json:"admission_wait_ms"`
}

// limiterResult is nil if there is no limiter.
func (r *Recorder) limiterResult(end Snapshot) *Limiter {
	l := end.Limiter
	if l == nil {
		return nil
	}
	out := &Limiter{
		Enabled:           l.Enabled,
		FillRate:          l.FillRate,
		MeasuredRate:      l.MeasuredRate,
		Capacity:          l.Capacity,
		Level:             l.Level,
		Waiting:           l.Waiting,
		CallsEndedWaiting: r.waitEnds.Load(),
		CallsNeverSent:    r.neverSent.Load(),
		AdmissionWait:     distribution(r.admission.sum()),
	}
	if l.Enabled {
		out.SinceThrottleMS = new(millis(l.SinceThrottle))
	}
	return out
}
