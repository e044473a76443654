package awsretry

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"

	"github.com/reprise-go/reprise/engine"
)

// Apply makes every client that is made from cfg from now on retry by engines
// like e: the engine owns the loop, and the SDK's own makes single attempts.
//
// e is the template: for each service and region an engine of its own is made
// on first use, with a quota and a limiter of its own and otherwise e's
// settings, of which those that e was not told are the service's (DynamoDB and
// DynamoDB Streams: 4 attempts, 25 ms; R1.1, R4.1). Its own service does not
// count, nor the level that WithTokens started it at. e itself pays for nothing,
// unless [WithSharedEngine] says so. [EnginesOf] finds the engines.
//
// It changes cfg.Retryer and cfg.APIOptions and nothing else; it does not write
// to what cfg shares with its copies. An error changes nothing: a nil cfg, a nil
// or zero engine, a Retryer that is already set (see [ReplaceRetryer]), a
// cfg.RetryMaxAttempts that is negative or contradicts what e was told, an
// option that is wrong.
func Apply(cfg *aws.Config, e *engine.Engine, opts ...Option) error {
	if cfg == nil {
		return errors.New("reprise/awsretry: Apply needs a config; this *aws.Config is nil")
	}
	c, err := newConfig(e, "Apply", opts)
	if err != nil {
		return err
	}
	if cfg.Retryer != nil && !c.replace {
		return fmt.Errorf("reprise/awsretry: Apply would replace the Retryer that the config has, a %s: take it out, or say ReplaceRetryer()", retryerName(cfg))
	}
	if n := cfg.RetryMaxAttempts; n < 0 {
		return fmt.Errorf("reprise/awsretry: the config's RetryMaxAttempts is %d: want 1 (no retries) or more, the first attempt included, or 0 for the default", n)
	}
	if n, told := cfg.RetryMaxAttempts, toldAttempts(e); n != 0 && told != 0 && n != told {
		return fmt.Errorf("reprise/awsretry: the config's RetryMaxAttempts is %d (code, AWS_MAX_ATTEMPTS or max_attempts) and the engine was told %d: "+
			"want one of them, or the same (LoadEngine makes an engine from the config)", n, told)
	}
	engines, err := newEngines(e, c, cfg.RetryMaxAttempts)
	if err != nil {
		return err
	}
	r := &loopRetryer{engines: engines}
	cfg.Retryer = func() aws.Retryer { return r }
	cfg.APIOptions = append(slices.Clip(cfg.APIOptions), func(stack *middleware.Stack) error {
		return addLoop(stack, engines)
	})
	return nil
}

// retryerName describes what is in the way.
func retryerName(cfg *aws.Config) string {
	r := cfg.Retryer()
	if _, ours := r.(*loopRetryer); ours {
		return "Retryer of an earlier Apply"
	}
	return fmt.Sprintf("%T", r)
}

// toldAttempts returns the attempts that e was told explicitly, 0 if none: those
// that do not depend on the service.
func toldAttempts(e *engine.Engine) int {
	dynamo, err1 := e.Derive(engine.WithService("DynamoDB"))
	other, err2 := e.Derive(engine.WithService("S3"))
	const legacyDefault = 5 // R1.4, for every service
	switch {
	case err1 != nil, err2 != nil, dynamo.MaxAttempts() != other.MaxAttempts():
		return 0
	case e.Mode() == engine.Legacy && e.MaxAttempts() == legacyDefault:
		return 0
	}
	return e.MaxAttempts()
}

// The names of the middlewares in a stack: the first stands right before the
// SDK's retry loop, the second right after what sets the attempt's header.
const (
	loopID    = "RepriseLoop"
	attemptID = "RepriseAttempt"
	inputID   = "RepriseInput"
	crcID     = "RepriseChecksum"
)

const (
	// sdkRetryID is the SDK's retry loop, which sets the header.
	sdkRetryID = "Retry"
	// sdkHeaderID sets it once more in the clients of service modules that are
	// older than aws-sdk-go-v2 v1.48.
	sdkHeaderID = "RetryMetricsHeader"
)

// addLoop puts the engine's loop around the SDK's. A stack without that, such as
// a presigned request's, sends nothing that could be sent again and is left
// alone.
func addLoop(stack *middleware.Stack, engines *Engines) error {
	inner, ok := stack.Finalize.Get(sdkRetryID)
	if !ok {
		return nil
	}
	_, longPolling := stack.Initialize.Get("SetLongPollingContext")
	l := &loop{engines: engines, longPolling: longPolling}
	if sdk, ok := inner.(*retry.Attempt); ok {
		l.sdk = sdk
		if sdk.ClientSkew == nil { // an older service module: nobody else carries it from run to run
			sdk.ClientSkew = new(atomic.Int64)
		}
	}
	if _, twice := stack.Finalize.Get(loopID); twice { // ReplaceRetryer: the later Apply counts
		_, err := stack.Finalize.Swap(loopID, l)
		return errors.Join(err, addInput(stack, engines))
	}
	before := sdkRetryID
	if _, old := stack.Finalize.Get(sdkHeaderID); old {
		before = sdkHeaderID
	}
	return errors.Join(
		stack.Finalize.Insert(l, sdkRetryID, middleware.Before),
		stack.Finalize.Insert(attempt{}, before, middleware.After),
		addInput(stack, engines),
		addChecksum(stack),
	)
}
