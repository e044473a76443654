package record

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// Latencies are kept in microseconds, to 3 digits, up to ten minutes.
	longestLatency = 10 * time.Minute
	latencyDigits  = 3
	// latencyShards spreads the histograms' locks over the workers.
	latencyShards = 8
)

// latencies is a histogram of durations for many writers. The zero value is
// empty.
type latencies struct {
	shards [latencyShards]struct {
		sync.Mutex
		histogram *hdrhistogram.Histogram
	}
}

func (l *latencies) add(d time.Duration) {
	micros := min(max(d, 0), longestLatency).Microseconds()
	shard := &l.shards[rand.IntN(latencyShards)]
	shard.Lock()
	defer shard.Unlock()
	if shard.histogram == nil {
		shard.histogram = newHistogram()
	}
	// The value is within range, so it cannot be refused.
	_ = shard.histogram.RecordValue(micros)
}

// sum is all that was added so far.
func (l *latencies) sum() *hdrhistogram.Histogram {
	sum := newHistogram()
	for i := range l.shards {
		shard := &l.shards[i]
		shard.Lock()
		if shard.histogram != nil {
			sum.Merge(shard.histogram)
		}
		shard.Unlock()
	}
	return sum
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, longestLatency.Microseconds(), latencyDigits)
}
