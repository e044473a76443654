package grpcretry

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

// perMessage is what a kept message counts beside its encoded size, in bytes, so
// that empty ones have an end too.
const perMessage = 64

// kept is what was sent on a stream, so that it can be sent again.
type kept struct {
	messages []any
	bytes    int
}

// keep keeps a copy of m. grpc forbids to change a message that was sent, but
// encodes it at once, so callers get away with it: not with a copy. What is no
// protocol buffer is kept as it is if it is the only one, and else not, for its
// size is not known. An error says why the stream cannot be sent again.
func (k *kept) keep(m any, only bool, limit int) error {
	var p proto.Message
	switch m := m.(type) {
	case proto.Message:
		p = m
	case protoadapt.MessageV1:
		p = protoadapt.MessageV2Of(m)
	default:
		if !only {
			return &sizeError{m}
		}
		k.messages = append(k.messages, m)
		return nil
	}
	if k.bytes += proto.Size(p) + perMessage; k.bytes > limit {
		return &tooLongError{limit}
	}
	k.messages = append(k.messages, proto.Clone(p))
	return nil
}

type tooLongError struct{ limit int }

func (e *tooLongError) Error() string {
	return fmt.Sprintf("reprise/grpcretry: more was sent on the stream than the %d bytes that are kept (WithBufferLimit)", e.limit)
}

type sizeError struct{ message any }

func (e *sizeError) Error() string {
	return fmt.Sprintf("reprise/grpcretry: a %T is no protocol buffer, so what was sent on the stream is not kept", e.message)
}
