package grpcretry_test

import (
	"context"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// A fault is what goes wrong behind the wire, and what each door must make of it.
type fault struct {
	name    string
	script  []script // for one request after the other, then the last again; nil: nobody listens
	once    bool     // a method that may not be sent twice
	attempt time.Duration
	bound   time.Duration // the caller's deadline
	hang    bool          // the caller leaves in the first wait
	engine  []engine.Option

	retries []retry
	stop    engine.Reason // ReasonRetry: the call succeeds
	class   classify.Class
	left    int // tokens
	hits    int // requests that arrived
	// differs says for a door why the row is not for it.
	differs map[string]string
}

// retry is a retry that was granted.
type retry struct {
	class classify.Class
	delay time.Duration
	cost  int
}

// script is what a server does with a request.
type script struct {
	kind      kind
	code      codes.Code
	reason    string // of an ErrorInfo
	pushback  []string
	retryInfo time.Duration
	headers   bool // come before the status
}

type kind int

const (
	answers kind = iota
	silence
	hangUp
	reset
)

// none is why a call that succeeded ended.
const none = engine.ReasonRetry

// give is what a server does with a request; a nil error succeeds. stream is nil
// for a unary call.
func (s script) give(ctx context.Context, conns *keptConns, stream grpc.ServerStream) error {
	switch s.kind {
	case silence:
		<-ctx.Done()
		return ctx.Err()
	case hangUp, reset:
		conns.hangUp(s.kind == reset)
		<-ctx.Done()
		return ctx.Err()
	}
	if s.headers {
		if stream != nil {
			_ = stream.SendHeader(metadata.Pairs("key", "value"))
		} else {
			_ = grpc.SendHeader(ctx, metadata.Pairs("key", "value"))
		}
	}
	if s.pushback != nil {
		md := metadata.MD{pushback: s.pushback}
		if stream != nil {
			stream.SetTrailer(md)
		} else {
			_ = grpc.SetTrailer(ctx, md)
		}
	}
	return s.status().Err()
}

func (s script) status() *status.Status {
	st := status.New(s.code, "no")
	var details []protoadapt.MessageV1
	if s.reason != "" {
		details = append(details, &errdetails.ErrorInfo{Reason: s.reason, Domain: "test"})
	}
	if s.retryInfo != 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(s.retryInfo)})
	}
	if details == nil {
		return st
	}
	detailed, err := st.WithDetails(details...)
	if err != nil {
		panic(err)
	}
	return detailed
}

func transient(delay time.Duration) retry { return retry{classify.Transient, delay, 14} }

func throttling(delay time.Duration) retry { return retry{classify.Throttling, delay, 5} }

// faults is the table. All delays are the ceilings of R4.2, less the next to
// nothing that a draw below 1 takes off.
func faults() []fault {
	ok := script{}
	first, second, slow, slower := 50*ms-near, 100*ms-near, time.Second-near, 2*time.Second-near
	code := func(c codes.Code) script { return script{code: c} }
	unavailable, exhausted := code(codes.Unavailable), code(codes.ResourceExhausted)
	recovers := func(name string, s script, r retry) fault {
		return fault{name: name, script: []script{s, ok}, retries: []retry{r}, stop: none, left: 500, hits: 2}
	}
	final := func(name string, s script) fault {
		return fault{name: name, script: []script{s}, stop: engine.ReasonNonRetryable, left: 500, hits: 1}
	}
	hint := func(name string, delay time.Duration, values ...string) fault {
		return recovers(pushback+" "+name, script{code: codes.Unavailable, pushback: values}, transient(delay))
	}
	forbidden := func(name string, c codes.Code, class classify.Class, values ...string) fault {
		return fault{name: "113: " + pushback + " " + name, script: []script{{code: c, pushback: values}},
			stop: engine.ReasonNotReplayable, class: class, left: 500, hits: 1,
			differs: map[string]string{"Do": noPushback, "net/http": noPushback}}
	}
	info := func(name string, asked, delay time.Duration) fault {
		return recovers("RetryInfo "+name, script{code: codes.Unavailable, retryInfo: asked}, transient(delay))
	}
	with := func(f fault, change func(*fault)) fault {
		change(&f)
		return f
	}
	// but is a row that is not for some doors.
	but := func(f fault, why string, doors ...string) fault {
		f.differs = make(map[string]string)
		for _, d := range doors {
			f.differs[d] = why
		}
		return f
	}
	const vague = "to HTTP they are 500, which is transient (R3.2); gRPC means by them what a repetition does not mend"
	options := func(opts ...engine.Option) []engine.Option { return opts }
	return []fault{
		{name: "nothing", script: []script{ok}, stop: none, left: 500, hits: 1},
		recovers("UNAVAILABLE", unavailable, transient(first)),
		recovers("DEADLINE_EXCEEDED of the server's", code(codes.DeadlineExceeded), transient(first)),
		recovers("62: RESOURCE_EXHAUSTED", exhausted, throttling(slow)),
		recovers("UNAVAILABLE after headers", script{code: codes.Unavailable, headers: true}, transient(first)),
		recovers("RESOURCE_EXHAUSTED after headers, with a detail", script{code: codes.ResourceExhausted, headers: true, reason: "Odd"}, throttling(slow)),
		recovers("RESOURCE_EXHAUSTED after headers", script{code: codes.ResourceExhausted, headers: true}, throttling(slow)),
		recovers("77: INVALID_ARGUMENT with a throttling code", script{code: codes.InvalidArgument, reason: "ThrottlingException"}, throttling(slow)),
		recovers("UNAVAILABLE with a throttling code", script{code: codes.Unavailable, reason: "SlowDown"}, throttling(slow)),
		recovers("FAILED_PRECONDITION with a transient code", script{code: codes.FailedPrecondition, reason: "RequestTimeout"}, transient(first)),
		final("INVALID_ARGUMENT with an unknown code", script{code: codes.InvalidArgument, reason: "Odd"}),
		final("CANCELED", code(codes.Canceled)),
		final("INVALID_ARGUMENT", code(codes.InvalidArgument)),
		final("NOT_FOUND", code(codes.NotFound)),
		final("ALREADY_EXISTS", code(codes.AlreadyExists)),
		final("PERMISSION_DENIED", code(codes.PermissionDenied)),
		final("FAILED_PRECONDITION", code(codes.FailedPrecondition)),
		final("ABORTED", code(codes.Aborted)),
		final("OUT_OF_RANGE", code(codes.OutOfRange)),
		final("UNIMPLEMENTED", code(codes.Unimplemented)),
		final("UNAUTHENTICATED", code(codes.Unauthenticated)),
		but(final("UNKNOWN", code(codes.Unknown)), vague, "Do", "net/http"),
		but(final("INTERNAL", code(codes.Internal)), vague, "Do", "net/http"),
		but(final("DATA_LOSS", code(codes.DataLoss)), vague, "Do", "net/http"),
		final("112: NOT_FOUND with a hint", script{code: codes.NotFound, pushback: []string{"1500"}}),
		final("NOT_FOUND with a RetryInfo", script{code: codes.NotFound, retryInfo: time.Second}),

		recovers("67: reset before the answer", script{kind: reset}, transient(first)),
		recovers("closed before the answer", script{kind: hangUp}, transient(first)),
		{name: "67: a refused dial", retries: []retry{transient(first), transient(second)}, stop: engine.ReasonMaxAttempts, class: classify.Transient, left: 472},

		but(with(recovers("95: an attempt that takes too long", script{kind: silence}, transient(first)), func(f *fault) { f.attempt = 500 * ms }),
			"the pace of a stream on which the caller goes on sending is the caller's", "client stream", "bidi"),
		{name: "the caller's deadline in an attempt", script: []script{{kind: silence}}, bound: 500 * ms, stop: engine.ReasonDeadline, class: classify.Transient, left: 500, hits: 1},
		{name: "88, 91: a delay beyond the deadline", script: []script{{code: codes.ResourceExhausted, pushback: []string{"86400000"}}}, bound: 5 * time.Second,
			stop: engine.ReasonDeadline, class: classify.Throttling, left: 500, hits: 1},
		{name: "4, 92: cancelled in the wait", script: []script{unavailable}, hang: true, retries: []retry{transient(first)},
			stop: engine.ReasonCancelled, class: classify.Transient, left: 500, hits: 1},

		hint("113: 0", first, "0"),
		hint("1500", 1500*ms, "1500"),
		hint("below the backoff", first, "10"),
		hint("110: four years", first+5*time.Second, "126230400000"),
		hint("107: too large for any integer", first+5*time.Second, strings.Repeat("9", 400)),
		forbidden("-1", codes.Unavailable, classify.Transient, "-1"),
		forbidden("x", codes.Unavailable, classify.Transient, "x"),
		forbidden("1.5", codes.Unavailable, classify.Transient, "1.5"),
		forbidden("empty", codes.Unavailable, classify.Transient, ""),
		forbidden("too far below zero", codes.Unavailable, classify.Transient, "-"+strings.Repeat("9", 400)),
		forbidden("twice", codes.Unavailable, classify.Transient, "10", "10"),
		forbidden("-1 of a throttle", codes.ResourceExhausted, classify.Throttling, "-1"),
		info("1.5 s", 1500*ms, 1500*ms),
		info("below the backoff", ms, first),
		info("110: four years", 4*365*24*time.Hour, first+5*time.Second),
		but(info("below zero", -time.Second, first), "there is no such hint", "Do", "net/http"),
		but(recovers("RetryInfo and "+pushback, script{code: codes.Unavailable, pushback: []string{"1000"}, retryInfo: 2 * time.Second}, transient(2*time.Second)),
			"there is but one hint", "Do", "net/http"),

		{name: "an empty quota", script: []script{unavailable}, engine: options(engine.WithTokens(13)), stop: engine.ReasonQuota, class: classify.Transient, left: 13, hits: 1},
		{name: "attempts used up", script: []script{unavailable}, retries: []retry{transient(first), transient(second)},
			stop: engine.ReasonMaxAttempts, class: classify.Transient, left: 472, hits: 3},
		{name: "attempts used up by throttling", script: []script{exhausted}, retries: []retry{throttling(slow), throttling(slower)},
			stop: engine.ReasonMaxAttempts, class: classify.Throttling, left: 490, hits: 3},
		{name: "R6.4: a retry that ends for good", script: []script{unavailable, code(codes.NotFound)}, retries: []retry{transient(first)},
			stop: engine.ReasonNonRetryable, left: 486, hits: 2},
		{name: "one attempt", script: []script{unavailable}, engine: options(engine.WithMaxAttempts(1)), stop: engine.ReasonMaxAttempts, class: classify.Transient, left: 500, hits: 1},
		with(recovers("adaptive mode", exhausted, throttling(slow)), func(f *fault) { f.engine = options(engine.WithMode(engine.Adaptive)) }),
		with(recovers("legacy mode", unavailable, retry{classify.Transient, slow, 0}), func(f *fault) { f.engine = options(engine.WithMode(engine.Legacy)) }),

		but(fault{name: "115: once", once: true, script: []script{unavailable}, stop: engine.ReasonNotReplayable, class: classify.Transient, left: 500, hits: 1}, onDo, "Do"),
		but(fault{name: "once, cut off", once: true, script: []script{{kind: reset}}, stop: engine.ReasonNotReplayable, class: classify.Transient, left: 500, hits: 1}, onDo, "Do"),
		{name: "once, and nobody listens", once: true, retries: []retry{transient(first), transient(second)}, stop: engine.ReasonMaxAttempts, class: classify.Transient, left: 472},
	}
}

const (
	onDo       = "its op must be safe to call again"
	noPushback = "a value that is no number is no hint to x-amz-retry-after (R5.1), and it cannot forbid"
)
