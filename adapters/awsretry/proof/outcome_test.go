package proof_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/reprise-go/reprise/adapters/awsretry/proof/faulty"
)

// outcome is all that can be told from outside of what a client made of a script.
type outcome struct {
	Attempts []string        // the Amz-Sdk-Request of each request on the wire
	Delays   []time.Duration // between them
	IDs      int             // different Amz-Sdk-Invocation-Ids, "" included
	Bodies   int             // different bodies
	Signed   []time.Duration // what each signature took for the present, less the present
	Took     time.Duration
	Error    []string // what errors.As finds in it
	Results  []string // the SDK's attempt results: "retried", "retryable", "final", "ok"
	Tokens   int      // left in the quota
}

// fields are the names and values of an outcome, for a comparison of each.
func (o outcome) fields() map[string]string {
	all := make(map[string]string)
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		all[v.Type().Field(i).Name] = fmt.Sprint(v.Field(i).Interface())
	}
	return all
}

// outcomeOf is what came over the wire, after start, and what the call returned.
func outcomeOf(start time.Time, seen []faulty.Request, err error, results retry.AttemptResults, tokens int) outcome {
	o := outcome{Delays: gaps(seen), Took: time.Since(start).Round(time.Microsecond), Error: kinds(err), Tokens: tokens}
	ids, bodies := make(map[string]bool), make(map[string]bool)
	for _, r := range seen {
		o.Attempts = append(o.Attempts, r.Attempt)
		ids[r.Invocation], bodies[r.Body] = true, true
		o.Signed = append(o.Signed, r.Signed.Sub(r.At).Round(time.Minute))
	}
	o.IDs, o.Bodies = len(ids), len(bodies)
	for _, r := range results.Results {
		switch {
		case r.Retried:
			o.Results = append(o.Results, "retried")
		case r.Retryable:
			o.Results = append(o.Results, "retryable")
		case r.Err != nil:
			o.Results = append(o.Results, "final")
		default:
			o.Results = append(o.Results, "ok")
		}
	}
	return o
}

// kinds are the errors that a user of the SDK asks for, as far as err has them.
func kinds(err error) (found []string) {
	add := func(ok bool, format string, args ...any) {
		if ok {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		add(true, "%s %s", op.ServiceID, op.OperationName)
	}
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		add(true, "status %d", response.HTTPStatusCode())
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		add(true, "%s %s", strings.TrimPrefix(fmt.Sprintf("%T", api), "*"), api.ErrorCode())
	}
	if used, ok := errors.AsType[*retry.MaxAttemptsError](err); ok {
		add(true, "MaxAttemptsError %d", used.Attempt)
	}
	_, ok := errors.AsType[*aws.RequestCanceledError](err)
	add(ok, "RequestCanceledError")
	_, ok = errors.AsType[ratelimit.QuotaExceededError](err)
	add(ok, "QuotaExceededError")
	_, ok = errors.AsType[*smithy.DeserializationError](err)
	add(ok, "DeserializationError")
	_, ok = errors.AsType[*smithy.SerializationError](err)
	add(ok, "SerializationError")
	add(errors.Is(err, context.DeadlineExceeded), "deadline exceeded")
	add(errors.Is(err, context.Canceled), "canceled")
	var timeout interface{ Timeout() bool }
	add(errors.As(err, &timeout) && timeout.Timeout(), "timeout")
	return found
}

// keepResults makes a client leave the attempt results of its next call in kept,
// whether it fails or not; nil is nowhere.
func keepResults(kept *retry.AttemptResults) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("proof:KeepResults",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleInitialize(ctx, in)
				if kept != nil {
					*kept, _ = retry.GetAttemptResults(metadata)
				}
				return out, metadata, err
			}), middleware.Before)
	}
}
