package drive

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// getItem is the body of a call to the embedded server.
const getItem = `{"TableName":"orders","Key":{"pk":{"S":"customer#1042"}}}`

// worker makes one call at a time. The engine is the run's own for all of
// them, but each has hooks that know whose call they are about.
type worker struct {
	drive  *Drive
	client *http.Client
	trace  trace // of the call under way
}

func (d *Drive) newWorker() (*worker, error) {
	w := &worker{drive: d}
	e, err := d.engine.Derive(engine.WithObserver(w.observer()))
	if err != nil {
		return nil, err
	}
	retrying, err := door(e, &base{
		next: d.transport, recorder: d.recorder, trace: &w.trace, limited: d.config.Mode == engine.Adaptive,
	}, d.config.AttemptTimeout)
	if err != nil {
		return nil, err
	}
	w.client = newClient(retrying)
	return w, nil
}

func newClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: transport,
		// A redirect could lead anywhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// observer returns the hooks of the worker's calls.
func (w *worker) observer() engine.Observer {
	hooks := w.drive.recorder.Observer()
	counted := hooks
	hooks.Retry = func(e engine.RetryEvent) {
		w.throttled(e.Class)
		w.trace.granted = true
		w.trace.ready = time.Now().Add(e.Delay)
		counted.Retry(e)
	}
	hooks.Stop = func(e engine.StopEvent) {
		// A call that ends after a retry was granted tells of the failure again.
		if !w.trace.granted {
			w.throttled(e.Class)
		}
		counted.Stop(e)
	}
	return hooks
}

func (w *worker) throttled(class classify.Class) {
	if class == classify.Throttling {
		w.drive.recorder.Throttled()
	}
}

// work makes one call after the other until none is left to begin or issue is
// done. Calls run under the context calls.
func (w *worker) work(issue, calls context.Context, pace *pace) {
	for {
		if !pace.wait(issue) {
			return
		}
		if issue.Err() != nil {
			return
		}
		if n := w.drive.begun.Add(1); w.drive.config.Calls > 0 && n > w.drive.config.Calls {
			return
		}
		w.call(calls)
	}
}

// call makes one call and records it.
func (w *worker) call(ctx context.Context) {
	d := w.drive
	if d.config.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.config.Deadline)
		defer cancel()
	}
	phase := d.recorder.BeginCall()
	start := time.Now()
	w.trace = trace{ready: start}
	status, refused, err := send(ctx, w.client, d.url, d.server != nil)
	took := time.Since(start)
	if err != nil {
		d.keep(err)
	}
	if refused || endedWaiting(err) {
		d.recorder.WaitEnded()
	}
	ok := err == nil && status < http.StatusBadRequest
	d.recorder.EndCall(phase, ok, w.trace.attempts, took-w.trace.service)
}

// keep remembers what a call died of. That it was cancelled says nothing of the
// target.
func (d *Drive) keep(err error) {
	if !errors.Is(err, context.Canceled) {
		d.lastErr.Store(&err)
	}
}

// endedWaiting says whether a call ended because the send limiter's wait did
// not fit before its deadline, or the deadline came in the wait for the first
// attempt.
func endedWaiting(err error) bool {
	var e *engine.Error
	return errors.As(err, &e) && e.Reason == engine.ReasonDeadline && (e.Wait > 0 || e.Attempts == 0)
}

// send makes one request and reads its answer to the end. The embedded server
// gets what DynamoDB would, others a plain GET. refused says that the answer was the
// last because the send limiter's wait for a retry did not fit.
func send(ctx context.Context, client *http.Client, url string, embedded bool) (status int, refused bool, err error) {
	var req *http.Request
	if embedded {
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(getItem))
	} else {
		req, err = http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	}
	if err != nil {
		return 0, false, err
	}
	if embedded {
		req.Header.Set("Content-Type", "application/x-amz-json-1.0")
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, false, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	result, _ := httpretry.ResultOf(resp)
	return resp.StatusCode, result.Wait > 0, err
}
