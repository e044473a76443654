package faulty

import (
	"net/http"
	"sync"
	"time"
)

// Capacity is a service that can do so many requests a second and throttles the
// rest: a token bucket.
type Capacity struct {
	perSecond float64
	burst     float64
	code      Fault

	mu       sync.Mutex
	tokens   float64
	filled   time.Time
	admitted int
	rejected int
}

// NewCapacity returns a full bucket that holds burst requests and fills at
// perSecond. What it has no token for is answered with code.
func NewCapacity(perSecond, burst float64, code Fault) *Capacity {
	return &Capacity{perSecond: perSecond, burst: burst, code: code, tokens: burst, filled: time.Now()}
}

// Fault passes a request on or throttles it.
func (c *Capacity) Fault(w http.ResponseWriter, r *http.Request, service http.Handler) {
	if c.take() {
		service.ServeHTTP(w, r)
	} else {
		c.code(w, r, service)
	}
}

// Counts returns how many requests were passed on and how many throttled.
func (c *Capacity) Counts() (admitted, rejected int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.admitted, c.rejected
}

func (c *Capacity) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.tokens = min(c.burst, c.tokens+c.perSecond*now.Sub(c.filled).Seconds())
	c.filled = now
	if c.tokens < 1 {
		c.rejected++
		return false
	}
	c.tokens--
	c.admitted++
	return true
}
