package drive

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// pace lets calls begin at a rate; nil does not limit.
type pace struct {
	mu      sync.Mutex
	latest  time.Time
	limiter *rate.Limiter
}

// newPace returns a pace that lets at most 10 ms of calls catch up at once.
func newPace(perSecond float64) *pace {
	if perSecond == 0 {
		return nil
	}
	return &pace{limiter: rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/100)))}
}

// wait returns when the next call may begin; false if ctx ended before.
func (p *pace) wait(ctx context.Context) bool {
	if p == nil {
		return true
	}
	timer := time.NewTimer(p.reserve(time.Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// reserve returns how long after now the next call may begin. No time goes back:
// the limiter credits what lies between twice when a caller that was held up
// brings an older time than the one before it.
func (p *pace) reserve(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Before(p.latest) {
		now = p.latest
	}
	p.latest = now
	return p.limiter.ReserveN(now, 1).DelayFrom(now)
}
