package record

import (
	"time"

	"github.com/reprise-go/reprise/classify"
)

// sampler writes a recorder's course into a series until it is stopped.
type sampler struct {
	recorder *Recorder
	series   Series
	last     Snapshot
	stopped  chan struct{}
	done     chan struct{}
}

func startSampler(r *Recorder) *sampler {
	s := &sampler{recorder: r, stopped: make(chan struct{}), done: make(chan struct{})}
	s.last.Level, _ = r.sources.Quota()
	go s.run()
	return s
}

func (s *sampler) run() {
	defer close(s.done)
	ticker := time.NewTicker(firstSlotLength)
	defer ticker.Stop()
	for {
		s.sample()
		select {
		case <-ticker.C:
		case <-s.stopped:
			s.sample()
			return
		}
	}
}

// stop takes a last sample and returns when nothing more will be written.
func (s *sampler) stop() {
	close(s.stopped)
	<-s.done
}

func (s *sampler) sample() {
	now := s.recorder.Snapshot()
	// What the hooks saw between two samples counts as well: a quota can drain
	// and be half way back within one slot.
	dip := int(s.recorder.dip.Swap(int64(now.Level)))
	s.recorder.sawLevel(now.Level)
	s.recorder.phases[now.Phase].saw(now.Elapsed)
	slot := Slot{
		Offered:    now.Begun - s.last.Begun,
		Sent:       now.Attempts - s.last.Attempts,
		Throttled:  now.Throttled - s.last.Throttled,
		Succeeded:  now.Succeeded - s.last.Succeeded,
		Stopped:    now.Stopped - s.last.Stopped,
		Transient:  now.Retries[classify.Transient] - s.last.Retries[classify.Transient],
		Throttling: now.Retries[classify.Throttling] - s.last.Retries[classify.Throttling],
		Lowest:     min(dip, now.Level, s.last.Level),
		Highest:    max(now.Level, s.last.Level),
		Last:       now.Level,
		Samples:    1,
	}
	if l := now.Limiter; l != nil && l.Enabled {
		slot.FillRate, slot.MeasuredRate = l.FillRate, l.MeasuredRate
	}
	s.series.add(s.last.Elapsed, now.Elapsed, slot)
	s.last = now
}
