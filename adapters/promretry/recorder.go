package promretry

import (
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/tally"
)

// Recorder counts what an engine does not: calls, attempts and delays. Give its
// Observer to the engine, or to the template of a group, and itself to the
// collector of that engine or group, and to no other. Make one with
// [NewRecorder]; the zero Recorder counts no success at a first attempt. It is
// safe for use by many goroutines.
type Recorder struct {
	tally tally.Tally // leads, as it wants
}

// NewRecorder returns a recorder at zero.
func NewRecorder() *Recorder {
	r := new(Recorder)
	r.tally.Init()
	return r
}

// Observer returns the hooks that count. [engine.Observer.Then] joins them with
// others. They are wait-free, allocate nothing and read no clock.
func (r *Recorder) Observer() engine.Observer { return r.tally.Observer() }
