package drive

import (
	"context"
	"net/http"

	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

// baselineCalls is how many calls each side of the baseline is measured over:
// a fifth of a second together.
const baselineCalls = 1000

// baseline is what calls that succeed at once allocate, without the engine and
// with it. The zero value is one that was not measured.
type baseline struct {
	measured       bool
	plain, reprise float64 // objects per call, the embedded server's included
}

// measureBaseline calls the embedded server's calm path, one call at a time.
// These calls are counted nowhere.
func (d *Drive) measureBaseline(ctx context.Context) (baseline, error) {
	if d.server == nil {
		return baseline{}, nil
	}
	// The run's settings without what belongs to the run: its counting, its
	// quota, which a call that times out here must not pay from, and its limiter.
	e, err := newEngine(&d.config)
	if err != nil {
		return baseline{}, err
	}
	retrying, err := d.door(e, d.transport)
	if err != nil {
		return baseline{}, err
	}
	url := d.server.URL() + faulty.CalmPath
	objects := func(transport http.RoundTripper) (float64, error) {
		client := newClient(transport)
		var before record.HeapAllocs
		// The first tenth opens the connection and warms the pools.
		for i := range baselineCalls + baselineCalls/10 {
			if i == baselineCalls/10 {
				before = record.ReadHeapAllocs()
			}
			if _, err := send(ctx, client, url, true); err != nil {
				return 0, err
			}
		}
		after := record.ReadHeapAllocs()
		return float64(after.Objects-before.Objects) / baselineCalls, nil
	}
	b := baseline{measured: true}
	if b.plain, err = objects(d.transport); err != nil {
		return baseline{}, err
	}
	if b.reprise, err = objects(retrying); err != nil {
		return baseline{}, err
	}
	return b, nil
}

func (b baseline) fill(a *record.Allocs) {
	if !b.measured {
		return
	}
	a.BaselineSamples = baselineCalls
	a.PlainClient, a.ThroughReprise, a.AddedByReprise = new(b.plain), new(b.reprise), new(b.reprise-b.plain)
}
