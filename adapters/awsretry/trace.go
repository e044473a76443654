package awsretry

import (
	"context"

	"github.com/aws/smithy-go/tracing"
)

// The SDK's loop makes these spans: one around the call's attempts, and in it one
// for each.
const (
	loopSpan    = "RetryLoop"
	attemptSpan = "Attempt"
	numberTag   = "operation.attempt"
)

// traced returns the context for a run of the SDK's loop, in which the call's
// spans come out as if that loop made all attempts.
func (x *exchange) traced(ctx context.Context) context.Context {
	tracer, ok := tracing.GetOperationTracer(ctx)
	if !ok {
		return ctx
	}
	return tracing.WithOperationTracer(ctx, runTracer{tracer: tracer, number: x.number})
}

// runTracer leaves the run's own loop span out, for there is one around all
// runs, and numbers the attempt's. Inside of the attempt the client's tracer is
// back.
type runTracer struct {
	tracer tracing.Tracer
	number int
}

func (t runTracer) StartSpan(ctx context.Context, name string, opts ...tracing.SpanOption) (context.Context, tracing.Span) {
	switch name {
	case loopSpan:
		_, none := noTracer.StartSpan(ctx, name)
		return ctx, none
	case attemptSpan:
		if t.number > 1 { // else it is right, and may be another Retryer's
			opts = append(opts, func(o *tracing.SpanOptions) { o.Properties.Set(numberTag, t.number) })
		}
		ctx, span := t.tracer.StartSpan(ctx, name, opts...)
		return tracing.WithOperationTracer(ctx, t.tracer), span
	}
	return t.tracer.StartSpan(ctx, name, opts...)
}

var noTracer = (&tracing.NopTracerProvider{}).Tracer("")
