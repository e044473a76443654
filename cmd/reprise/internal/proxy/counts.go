package proxy

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reprise-go/reprise/adapters/promretry"
)

// counts are what an upstream has been through since the proxy began to serve it.
// No word depends on another; 64 bits do not wrap. Ordering: publishes nothing.
type counts struct {
	inFlight atomic.Int64
	answers  [6]atomic.Uint64                // of the upstream, by the first digit of the status; 0 is a strange one
	ours     [len(ourStatuses)]atomic.Uint64 // made by the proxy, by ourStatuses

	complained atomic.Int64  // when a failure was last logged, in nanoseconds since epoch
	unsaid     atomic.Uint64 // failures since then

	latency prometheus.Histogram // until the headers of the answer
	calls   *promretry.Recorder  // an observer of the engine
}

// ourStatuses are those of answers that the proxy makes itself; 0 is any other.
var ourStatuses = [...]int{0, 400, 408, 429, statusClientLeft, 502, 503, 504}

func newCounts() *counts {
	return &counts{calls: promretry.NewRecorder(), latency: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "reprise_proxy_response_seconds",
		Help:    "Time from a request to the headers of the upstream's answer, retries and waits included.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	})}
}

func (c *counts) answered(status int, took time.Duration) {
	digit := status / 100
	if digit < 1 || digit > 5 {
		digit = 0
	}
	c.answers[digit].Add(1)
	c.latency.Observe(took.Seconds())
}

func (c *counts) own(status int) {
	for i, known := range ourStatuses {
		if status == known {
			c.ours[i].Add(1)
			return
		}
	}
	c.ours[0].Add(1)
}

// serverCounts are those that are no upstream's.
type serverCounts struct {
	connections   atomic.Int64
	refused       atomic.Uint64 // forward-proxy requests
	unrouted      atomic.Uint64 // for no upstream
	reloads       atomic.Uint64
	failedReloads atomic.Uint64
}
