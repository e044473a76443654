package drive

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

// getItem is the body of a call to the embedded server.
const getItem = `{"TableName":"orders","Key":{"pk":{"S":"customer#1042"}}}`

// work makes one call after the other until none is left to begin or issue is
// done. Calls run under the context calls.
func (d *Drive) work(issue, calls context.Context, pace *rate.Limiter) {
	var t trace
	for {
		if pace != nil && pace.Wait(issue) != nil {
			return
		}
		if issue.Err() != nil {
			return
		}
		if n := d.begun.Add(1); d.config.Calls > 0 && n > d.config.Calls {
			return
		}
		d.call(calls, &t)
	}
}

// call makes one call and records it. t is the worker's own.
func (d *Drive) call(ctx context.Context, t *trace) {
	if d.config.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.config.Deadline)
		defer cancel()
	}
	*t = trace{}
	phase := d.recorder.BeginCall()
	start := time.Now()
	status, err := send(context.WithValue(ctx, traceKey{}, t), d.client, d.url, d.server != nil)
	took := time.Since(start)
	if err != nil {
		d.lastErr.Store(&err)
	}
	ok := err == nil && status < http.StatusBadRequest
	d.recorder.EndCall(phase, ok, t.attempts, took-t.service)
}

// send makes one request and reads its answer to the end. The embedded server
// gets what DynamoDB would, others a plain GET.
func send(ctx context.Context, client *http.Client, url string, embedded bool) (status int, err error) {
	var req *http.Request
	if embedded {
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(getItem))
	} else {
		req, err = http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	}
	if err != nil {
		return 0, err
	}
	if embedded {
		req.Header.Set("Content-Type", "application/x-amz-json-1.0")
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, err
}

// describe fills in what the recorder does not know.
func (d *Drive) describe(res *record.Result, b baseline) {
	c := &d.config
	res.Setup = record.Setup{
		Target:           d.url,
		Embedded:         d.server != nil,
		Mode:             d.engine.Mode().String(),
		Service:          d.engine.Service(),
		MaxAttempts:      d.engine.MaxAttempts(),
		Calls:            c.Calls,
		DurationMS:       float64(c.Duration.Microseconds()) / 1e3,
		Workers:          c.Workers,
		RatePerSec:       c.Rate,
		DeadlineMS:       float64(c.Deadline.Microseconds()) / 1e3,
		AttemptTimeoutMS: float64(c.AttemptTimeout.Microseconds()) / 1e3,
		Seed:             c.Seed,
	}
	res.Retries.Unsent = d.engine.Stats().UnsentRetries
	res.Quota.Enabled = res.Setup.Mode != "legacy"
	b.fill(&res.Allocs)
	if d.server == nil {
		return
	}
	res.Setup.Faults = c.Faults.String()
	res.Setup.Outage = c.Outage.String()
	res.Server = &record.Server{Hits: d.server.Hits(), Faults: map[string]uint64{}}
	served := d.server.Served()
	for _, kind := range faulty.Kinds() {
		res.Server.Faults[kind.String()] = served[kind]
	}
}
