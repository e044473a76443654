package drive

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/engine"
)

const (
	maxWorkers = 4096
	maxRate    = 1e6 // per second
)

// Config is what to run. Zero means "no limit" in Calls, Duration, Rate,
// Deadline and AttemptTimeout; of Calls and Duration one must be set.
type Config struct {
	Target      *url.URL // nil for the embedded server
	AllowRemote bool     // let Target be other than loopback

	Calls    uint64        // calls to begin
	Duration time.Duration // for which calls are begun
	Workers  int           // 1 to 4096; the most calls at a time
	Rate     float64       // calls begun per second, at the most

	Mode           engine.Mode
	Service        string
	MaxAttempts    int // 0 for the service's default
	Deadline       time.Duration
	AttemptTimeout time.Duration
	Coalesce       time.Duration // adaptive mode's window; 0 for none
	Baseline       int           // calls of each side of the baseline of allocations; 0 for 1000

	// The embedded server's; a target of one's own has its own faults.
	Faults    faulty.Mix
	Outage    faulty.Outage
	SlowDelay time.Duration
	Seed      uint64
	Latency   time.Duration // of every answer, at the least
	Capacity  float64       // requests per second; 0 for no limit
}

// DefaultCapacity is a capacity that c has half as many calls again for: two
// thirds of its rate, or of the given one if calls go as fast as they can. A short run has a smaller one, a sixth of its calls, or it
// would be over before the burst of a second is used up.
func (c *Config) DefaultCapacity(unpaced float64) float64 {
	rate := c.Rate
	if rate <= 0 {
		rate = unpaced
	}
	capacity := 2 * rate / 3
	if c.Calls > 0 {
		capacity = min(capacity, float64(c.Calls)/6)
	}
	if c.Duration > 0 {
		capacity = min(capacity, rate*c.Duration.Seconds()/6)
	}
	// Two digits are as good and easier to read.
	round, _ := strconv.ParseFloat(strconv.FormatFloat(capacity, 'g', 2, 64), 64)
	return round
}

// DefaultWorkers is how many calls at a time suit c: atLeast, and where calls
// come at a rate to a server with a capacity, as many as keep coming when every
// call takes its whole deadline. With fewer of them the load would wait for the
// server, and so be what the server can take.
func (c *Config) DefaultWorkers(atLeast int) int {
	switch {
	case c.Capacity == 0 || c.Rate == 0:
		return atLeast
	case c.Deadline <= 0:
		return maxWorkers
	}
	return int(min(max(c.Rate*c.Deadline.Seconds(), float64(atLeast)), maxWorkers))
}

// Check says what is wrong with c, in the words of the command's flags.
func (c *Config) Check() error {
	switch {
	case c.Calls == 0 && c.Duration <= 0:
		return errors.New("a run needs an end: give --duration or --calls")
	case math.IsNaN(c.Rate) || c.Rate < 0 || c.Rate > maxRate:
		return fmt.Errorf("--rate is %v: want up to %d calls per second, or 0 for as fast as it goes", c.Rate, int(maxRate))
	case c.Workers < 1 || c.Workers > maxWorkers:
		return fmt.Errorf("--workers is %d: want 1 to %d", c.Workers, maxWorkers)
	case c.MaxAttempts < 0:
		return fmt.Errorf("--max-attempts is %d: want 1 or more", c.MaxAttempts)
	case c.Deadline < 0:
		return fmt.Errorf("--deadline is %v: want more than 0, or 0 for none", c.Deadline)
	case c.AttemptTimeout < 0:
		return fmt.Errorf("--attempt-timeout is %v: want more than 0, or 0 for none", c.AttemptTimeout)
	case c.SlowDelay < 0:
		return fmt.Errorf("--slow-delay is %v: want 0 or more", c.SlowDelay)
	case c.Latency < 0:
		return fmt.Errorf("--latency is %v: want 0 or more", c.Latency)
	case c.Coalesce < 0:
		return fmt.Errorf("--coalesce is %v: want more than 0, or 0 for every throttle to cut the rate", c.Coalesce)
	case c.Coalesce > 0 && c.Mode != engine.Adaptive:
		return fmt.Errorf("--coalesce is about the send limiter, which %v mode does not have: want --mode adaptive with it", c.Mode)
	case math.IsNaN(c.Capacity) || c.Capacity < 0 || c.Capacity > maxRate:
		return fmt.Errorf("--capacity is %v: want up to %d requests per second, or 0 for no limit", c.Capacity, int(maxRate))
	case c.Capacity > 0 && c.Target != nil:
		return errors.New("--capacity is the embedded server's: a --target has its own")
	}
	if c.Target != nil {
		if err := checkTarget(c.Target, c.AllowRemote); err != nil {
			return err
		}
	}
	// The engine knows best what it takes.
	_, err := newEngine(c)
	return err
}

func newEngine(c *Config) (*engine.Engine, error) {
	options := []engine.Option{engine.WithMode(c.Mode)}
	if c.Service != "" {
		options = append(options, engine.WithService(c.Service))
	}
	if c.MaxAttempts != 0 {
		options = append(options, engine.WithMaxAttempts(c.MaxAttempts))
	}
	if c.Coalesce != 0 {
		options = append(options, engine.WithThrottleCoalescing(c.Coalesce))
	}
	return engine.New(options...)
}
