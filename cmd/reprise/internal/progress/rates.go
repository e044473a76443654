package progress

import (
	"fmt"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

// source is where the state of the run comes from.
type source interface{ Snapshot() record.Snapshot }

// rates is what happened between two looks at a run.
type rates struct {
	now            record.Snapshot
	callsPerSec    float64 // ended
	retriesPerSec  float64
	succeeded      float64 // share of the calls that ended; 1 if none did
	anythingEnded  bool
	sinceLastLooks time.Duration
}

// meter turns snapshots into rates.
type meter struct {
	source source
	last   record.Snapshot
}

func (m *meter) look() rates {
	now := m.source.Snapshot()
	r := rates{now: now, succeeded: 1, sinceLastLooks: now.Elapsed - m.last.Elapsed}
	if seconds := r.sinceLastLooks.Seconds(); seconds > 0 {
		r.callsPerSec = float64(now.Ended()-m.last.Ended()) / seconds
		r.retriesPerSec = float64(now.TotalRetries()-m.last.TotalRetries()) / seconds
	}
	if ended := now.Ended() - m.last.Ended(); ended > 0 {
		r.succeeded = float64(now.Succeeded-m.last.Succeeded) / float64(ended)
		r.anythingEnded = true
	}
	m.last = now
	return r
}

func (r rates) success() string {
	if !r.anythingEnded {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*r.succeeded)
}

// fill is what the send limiter lets through; empty if there is none.
func (r rates) fill() string {
	switch l := r.now.Limiter; {
	case l == nil:
		return ""
	case !l.Enabled:
		return "fill    -"
	default:
		return fmt.Sprintf("fill %4.0f/s", l.FillRate)
	}
}
