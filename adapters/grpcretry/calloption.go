package grpcretry

import (
	"google.golang.org/grpc"
)

// marks is what the options of a call say, as far as it matters here.
type marks uint8

const (
	idempotentCall marks = 1 << iota // Idempotent
	longPoll                         // LongPoll
	retriedAbove                     // an Interceptor above makes the attempts
	hasOnFinish                      // there is a grpc.OnFinish
	hasCodec                         // messages may be no protocol buffers
)

// callMark is a call option that grpc does not know.
type callMark struct {
	grpc.EmptyCallOption
	mark marks
}

// Idempotent returns a call option that lets this one call be sent twice, for
// instance because its request has a key by which the server knows it again.
func Idempotent() grpc.CallOption { return callMark{mark: idempotentCall} }

// LongPoll returns a call option that marks the call as a long poll: if the quota
// refuses a retry, the normal backoff is waited before the error is returned (R7).
func LongPoll() grpc.CallOption { return callMark{mark: longPoll} }

// above tells an Interceptor beneath this one that the call is retried here.
var above grpc.CallOption = callMark{mark: retriedAbove}

func marksOf(opts []grpc.CallOption) (m marks) {
	for _, opt := range opts {
		switch opt := opt.(type) {
		case callMark:
			m |= opt.mark
		case grpc.OnFinishCallOption:
			m |= hasOnFinish
		case grpc.ForceCodecCallOption, grpc.ForceCodecV2CallOption, grpc.CustomCodecCallOption, grpc.ContentSubtypeCallOption:
			m |= hasCodec
		}
	}
	return m
}

// finished calls what the caller's grpc.OnFinish options hold, once for the call
// and not for each attempt.
func finished(opts []grpc.CallOption, m marks, err error) {
	if m&hasOnFinish == 0 {
		return
	}
	for _, opt := range opts {
		if opt, ok := opt.(grpc.OnFinishCallOption); ok && opt.OnFinish != nil {
			opt.OnFinish(err)
		}
	}
}
