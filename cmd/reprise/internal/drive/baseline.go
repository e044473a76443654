package drive

import (
	"cmp"
	"context"
	"net/http"

	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

// baselineCalls is how many calls each side of the baseline is measured over
// if the configuration does not say.
const baselineCalls = 1000

// baseline is what calls that succeed at once allocate, in objects per call with
// the embedded server's included. Nil is what was not measured.
type baseline struct {
	plain   *float64 // without the engine
	reprise *float64 // with it
	timed   *float64 // with it and the attempt time-out, if there is one
	calls   int      // of each
}

// measureBaseline calls the embedded server's calm path, one call at a time.
// These calls are counted nowhere. A side of which a call fails, as all do with a
// time-out that is too short, is not measured.
func (d *Drive) measureBaseline(ctx context.Context) (baseline, error) {
	b := baseline{calls: cmp.Or(d.config.Baseline, baselineCalls)}
	if d.server == nil {
		return b, nil
	}
	// The run's settings without what belongs to the run: its counting, its
	// quota, which a call that times out here must not pay from, and its limiter.
	e, err := newEngine(&d.config)
	if err != nil {
		return b, err
	}
	reprise, err := door(e, d.transport, 0)
	if err != nil {
		return b, err
	}
	b.plain, b.reprise = d.objects(ctx, d.transport, b.calls), d.objects(ctx, reprise, b.calls)
	if d.config.AttemptTimeout > 0 {
		timed, err := door(e, d.transport, d.config.AttemptTimeout)
		if err != nil {
			return b, err
		}
		b.timed = d.objects(ctx, timed, b.calls)
	}
	return b, context.Cause(ctx)
}

// objects is how many a call through transport allocates; nil if one fails.
func (d *Drive) objects(ctx context.Context, transport http.RoundTripper, calls int) *float64 {
	url := d.server.URL() + faulty.CalmPath
	client := newClient(transport)
	var before record.HeapAllocs
	// The first tenth opens the connection and warms the pools.
	for i := range calls + calls/10 {
		if i == calls/10 {
			before = record.ReadHeapAllocs()
		}
		if _, _, err := send(ctx, client, url, true); err != nil {
			return nil
		}
	}
	after := record.ReadHeapAllocs()
	return new(float64(after.Objects-before.Objects) / float64(calls))
}

func (b baseline) fill(a *record.Allocs) {
	a.PlainClient, a.ThroughReprise = b.plain, b.reprise
	a.AddedByReprise, a.AddedByTimeout = difference(b.reprise, b.plain), difference(b.timed, b.reprise)
	if b.plain != nil {
		a.BaselineSamples = b.calls
	}
}

// difference is nil if one side is.
func difference(with, without *float64) *float64 {
	if with == nil || without == nil {
		return nil
	}
	return new(*with - *without)
}
