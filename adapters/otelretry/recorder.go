package otelretry

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/tally"
)

// Recorder counts what an engine does not: calls and attempts; and records delays.
// Give its Observer to the engine, or to the template of a group, and itself to one
// [Register]. Make one with [NewRecorder]; the zero Recorder counts no success at a
// first attempt. It is safe for use by many goroutines.
type Recorder struct {
	tally tally.Tally // leads, as it wants
	// delays is the histogram, with its attributes; nil while not registered.
	// Writers: Register and what it returned, one after the other.
	delays atomic.Pointer[delays]
}

type delays struct {
	histogram metric.Float64Histogram
	options   [3][]metric.RecordOption // by classify.Class
}

// NewRecorder returns a recorder at zero.
func NewRecorder() *Recorder {
	r := new(Recorder)
	r.tally.Init()
	return r
}

// Observer returns the hooks that count. [engine.Observer.Then] joins them with
// others. Where no retry is granted they are wait-free, allocate nothing and read no
// clock.
func (r *Recorder) Observer() engine.Observer {
	return r.tally.Observer().Then(engine.Observer{Retry: r.retry})
}

func (r *Recorder) retry(e engine.RetryEvent) {
	if d := r.delays.Load(); d != nil && int(e.Class) < len(d.options) {
		d.histogram.Record(context.Background(), e.Delay.Seconds(), d.options[e.Class]...)
	}
}

// classes are those that are retried.
var classes = [...]classify.Class{classify.Transient, classify.Throttling}
