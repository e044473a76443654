package awsretry

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	"github.com/aws/smithy-go/tracing"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// loop is the middleware before the SDK's "Retry": the engine's loop, each of
// whose rounds is one run of the SDK's, which [loopRetryer] holds to a single
// attempt.
type loop struct {
	engines     *Engines
	longPolling bool
	sdk         *retry.Attempt // of this call's stack; nil if it is not the SDK's own
}

func (*loop) ID() string { return loopID }

// exchange is one call, from its loop to its attempts.
type exchange struct {
	loop   *loop
	log    bool
	engine *engine.Engine
	call   engine.Call
	number int // of the attempt under way, from 1

	asked   bool            // in this attempt our Retryer is the one that is in force
	refused engine.Decision // why the attempt may not be sent; its Reason is ReasonRetry if it may
	wanted  error           // what a Retryer wrapped around ours wants retried
}

// exchangeKey is where an exchange stands in the stack's values, which the SDK
// clears before another call is made from inside of this one.
type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := middleware.GetStackValue(ctx, exchangeKey{}).(*exchange)
	return x
}

// HandleFinalize makes the call.
func (l *loop) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	out middleware.FinalizeOutput, metadata middleware.Metadata, err error,
) {
	ctx, span := tracing.StartSpan(ctx, loopSpan)
	defer span.End()
	x := &exchange{loop: l}
	ctx = middleware.WithStackValue(ctx, exchangeKey{}, x)
	defer x.end()

	var results []retry.AttemptResult // of the attempts before
	var before error                  // the last of theirs
	var outcome engine.Outcome        // what it meant
	for x.number = 1; ; x.number++ {
		x.asked, x.wanted, x.refused = false, nil, engine.Decision{Reason: engine.ReasonRetry}
		out, metadata, err = next.HandleFinalize(x.traced(ctx), in)
		switch {
		case !x.asked && x.engine == nil: // another Retryer has done it all, or ctx was done
			return out, metadata, err
		case !x.asked: // granted, waited for, and not sent
			if d := x.call.Pause(ctx, outcome, engine.Decision{Reason: engine.ReasonRetry}); d.Reason != engine.ReasonRetry {
				err = x.failure(ctx, before, outcome, d)
			}
			return out, withResults(metadata, results, err, false), err
		case x.refused.Reason != engine.ReasonRetry:
			err = x.failure(ctx, before, outcome, x.refused)
			return out, withResults(metadata, results, err, false), err
		case err == nil:
			x.call.Succeed()
			return out, withResults(metadata, results, nil, false), nil
		}
		if x.wanted != nil {
			err = x.wanted
		}
		before, outcome = err, x.examine(ctx, err)
		again, final := x.failed(ctx, in, err, outcome)
		if !again {
			return out, withResults(metadata, results, final, outcome.Class != classify.NonRetryable), final
		}
		results = append(results, retry.AttemptResult{
			Err: err, Retryable: true, Retried: true, ResponseMetadata: responseMetadata(metadata),
		})
	}
}

// end is for a panic that comes from an attempt, or from a wait.
func (x *exchange) end() {
	if x.engine != nil {
		x.call.Abandon()
	}
}

// begin is the call's first attempt: its engine is found and the call begins.
// most is what the SDK was told of attempts by RetryMaxAttempts; 0 if nothing.
// The config's the engine knows, and may have been told better since.
func (x *exchange) begin(ctx context.Context, most int) {
	x.engine = x.loop.engines.forCall(ctx)
	if most > 0 && most != x.engine.MaxAttempts() && most != x.loop.engines.configAttempts {
		if own, err := x.engine.Derive(engine.WithMaxAttempts(most)); err == nil {
			x.engine = own
		}
	}
	if x.loop.longPolling {
		x.call = x.engine.BeginLongPoll()
	} else {
		x.call = x.engine.Begin()
	}
	if x.loop.sdk != nil { // from here on the lines are the loop's
		x.log, x.loop.sdk.LogAttempts = x.loop.sdk.LogAttempts, false
	}
}

// failed decides what follows a failed attempt and waits for it. If that is no
// further attempt the error is the call's.
func (x *exchange) failed(ctx context.Context, in middleware.FinalizeInput, err error, o engine.Outcome) (again bool, _ error) {
	var why error
	o.NotReplayable = true                                    // a body that was not made ready must not be relied on
	if o.Class != classify.NonRetryable && ctx.Err() == nil { // whether attempts are left may change meanwhile
		why = rewind(in.Request)
		o.NotReplayable = why != nil
	}
	d := x.call.FailIn(ctx, o)
	if d.Reason == engine.ReasonRetry {
		x.logRetry(ctx, err, o, d)
	}
	if d = x.call.Pause(ctx, o, d); d.Reason == engine.ReasonRetry {
		return true, err
	}
	if d.Reason == engine.ReasonNotReplayable && why != nil {
		err = &notReplayableError{err, why}
	}
	return false, x.failure(ctx, err, o, d)
}

// rewind makes the request's body ready to be sent again; its error says why
// that cannot be.
func rewind(request any) error {
	body, ok := request.(interface{ RewindStream() error })
	if !ok {
		return nil
	}
	if err := body.RewindStream(); err != nil {
		return fmt.Errorf("reprise/awsretry: the request's body cannot be sent again: %w", err)
	}
	return nil
}

// notReplayableError is the failure of an attempt and the reason why it was the
// last.
type notReplayableError struct {
	err error // of the attempt
	why error
}

func (e *notReplayableError) Error() string   { return fmt.Sprintf("%v (%v)", e.err, e.why) }
func (e *notReplayableError) Unwrap() []error { return []error{e.err, e.why} }

// errNotAdmitted is what the SDK's loop is told of an attempt that must not be
// sent; the call's own error replaces it.
var errNotAdmitted = errors.New("reprise/awsretry: not admitted")
