package drive

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/ratelimit"
)

// drainLimit is how long calls in flight may go on after the last call began.
const drainLimit = 5 * time.Second

// ErrNoAnswer is a run in which no attempt was answered by the user's own server.
var ErrNoAnswer = errors.New("no attempt was answered")

// Drive is a run that is set up: the server, the client and the engine between
// them. Make one with [Prepare], use it for one [Drive.Run], and close it.
type Drive struct {
	config    Config
	server    *faulty.Server // nil if the target is not embedded
	url       string
	engine    *engine.Engine
	transport *http.Transport
	workers   []*worker
	recorder  *record.Recorder

	// begun counts the calls that were let begin; it may pass config.Calls by
	// one for each worker that finds it used up.
	begun atomic.Uint64
	// started is when the run began, in nanoseconds of Unix time; 0 before.
	started atomic.Int64
	// lastErr is the latest error that a call ended with, but for cancellations.
	lastErr atomic.Pointer[error]
	// shareUsed is of the server's capacity, until the last call began.
	shareUsed float64
}

// Prepare starts the embedded server, or sees whether the target listens.
func Prepare(ctx context.Context, c Config) (*Drive, error) {
	d := &Drive{config: c}
	var err error
	if d.engine, err = newEngine(&c); err != nil {
		return nil, err
	}
	sources := record.Sources{Quota: d.quota, Phase: d.phase}
	if c.Mode == engine.Adaptive {
		sources.Limiter = d.limiter
	}
	d.recorder = record.New(sources)
	if c.Target != nil {
		if err := reach(ctx, c.Target, c.AllowRemote); err != nil {
			return nil, err
		}
		d.url = c.Target.String()
	} else {
		d.server, err = faulty.Start(faulty.Options{
			Mix: c.Faults, Outage: c.Outage, Seed: c.Seed, SlowDelay: c.SlowDelay, Progress: d.Progress,
			Latency: c.Latency, Capacity: c.Capacity,
		})
		if err != nil {
			return nil, err
		}
		d.url = d.server.URL() + "/"
	}
	d.transport = newTransport(&c)
	for range c.Workers {
		w, err := d.newWorker()
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		d.workers = append(d.workers, w)
	}
	return d, nil
}

// Close ends the embedded server and the connections to it or to the target.
func (d *Drive) Close() error {
	if d.transport != nil {
		d.transport.CloseIdleConnections()
	}
	if d.server != nil {
		return d.server.Close()
	}
	return nil
}

// URL is what the run calls.
func (d *Drive) URL() string { return d.url }

// Progress is how far the run is, from 0 to 1: by its time or its calls,
// whichever is nearer to the end.
func (d *Drive) Progress() float64 {
	started := d.started.Load()
	if started == 0 {
		return 0
	}
	var done float64
	if d.config.Duration > 0 {
		done = float64(time.Now().UnixNano()-started) / float64(d.config.Duration)
	}
	if d.config.Calls > 0 {
		done = max(done, float64(d.begun.Load())/float64(d.config.Calls))
	}
	return min(max(done, 0), 1)
}

// phase tells the phases apart by which calls are reported. A target of the
// user's own has none.
func (d *Drive) phase() faulty.Phase {
	if d.server == nil {
		return faulty.Before
	}
	phase, _ := d.config.Outage.At(d.Progress())
	return phase
}

func (d *Drive) quota() (level, capacity int) {
	stats := d.engine.Stats()
	return stats.QuotaLevel, stats.QuotaCapacity
}

func (d *Drive) limiter() ratelimit.Stats { return d.engine.Stats().Limiter }

// Run makes the calls and returns what they showed. It blocks until they have
// ended; when ctx is done the calls in flight are cancelled and the result,
// marked as interrupted, covers the run so far. watch is called once the run
// has begun, and what it returns when it has ended; nil watches nothing.
// An error comes with a result, unless the run could not begin.
func (d *Drive) Run(ctx context.Context, watch func(*record.Recorder) (stop func())) (record.Result, error) {
	if ctx.Err() != nil {
		return record.Result{}, context.Cause(ctx)
	}
	baseline, err := d.measureBaseline(ctx)
	if err != nil {
		return record.Result{}, err
	}

	d.recorder.Begin()
	d.started.Store(d.recorder.Start().UnixNano())
	if watch != nil {
		defer watch(d.recorder)()
	}
	d.runWorkers(ctx)
	elapsed := d.recorder.End()

	res := d.recorder.Result(elapsed, d.engine.Quota().TransientCost)
	res.Interrupted = ctx.Err() != nil
	d.describe(&res, baseline)
	// An embedded server that answers nothing does as it was told.
	if d.server == nil && res.Attempts > 0 && res.Answered == 0 && !res.Interrupted {
		err = fmt.Errorf("%w by %s", ErrNoAnswer, d.url)
		if last := d.lastErr.Load(); last != nil {
			err = fmt.Errorf("%w: %w", err, *last)
		}
	}
	return res, err
}

// runWorkers returns when every call has ended.
func (d *Drive) runWorkers(ctx context.Context) {
	calls, cancelCalls := context.WithCancel(ctx)
	defer cancelCalls()
	issue, stopIssuing := context.WithCancel(ctx)
	defer stopIssuing()
	if d.config.Duration > 0 {
		// Not a deadline: the pace would turn away, ahead of time, whoever would
		// have to wait past it.
		defer time.AfterFunc(d.config.Duration, stopIssuing).Stop()
	}

	var workers sync.WaitGroup
	pace := newPace(d.config.Rate)
	for _, w := range d.workers {
		workers.Go(func() {
			// The first worker to find nothing left tells the others.
			defer stopIssuing()
			w.work(issue, calls, pace)
		})
	}
	ended := make(chan struct{})
	go func() { workers.Wait(); close(ended) }()

	<-issue.Done()
	if c := d.capacity(); c != nil {
		d.shareUsed = c.Share(time.Since(d.recorder.Start()))
	}
	drain := time.NewTimer(drainLimit)
	defer drain.Stop()
	select {
	case <-ended:
	case <-drain.C:
		cancelCalls()
		<-ended
	}
}
