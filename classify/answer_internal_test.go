package classify

import (
	"net"
	"reflect"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestIsAnswerError(t *testing.T) {
	for _, c := range []struct {
		path, name string
		want       bool
	}{
		{"github.com/aws/aws-sdk-go-v2/aws/transport/http", "ResponseError", true},
		{"github.com/aws/aws-sdk-go-v2/service/internal/s3shared", "ResponseError", true},
		{"github.com/aws/aws-sdk-go-v2/aws/transport/http", "RequestSendError", false},
		{"github.com/aws/smithy-go/transport/http", "ResponseError", false}, // has no As
		{"example.com/github.com/aws/aws-sdk-go-v2/aws/transport/http", "ResponseError", false},
		{"", "ResponseError", false},
	} {
		assert.Equal(t, c.want, isAnswerError(c.path, c.name), "%s.%s", c.path, c.name)
	}
}

// ResponseError has the name and the shape of the SDK's, and is nobody we know.
type ResponseError struct{ *wrapped }

type wrapped struct{ error }

func (e ResponseError) As(any) bool { return false }

// An As is asked unless it is known to repeat Unwrap. (That the SDK's is left out,
// and that nothing is missed by it, is held by a test of the module bench, which
// has the SDK.)
func TestOthersAreAsked(t *testing.T) {
	for _, err := range []error{ResponseError{new(wrapped)}, &ResponseError{new(wrapped)}} {
		assert.False(t, asRepeatsUnwrap(reflect.TypeOf(err)), "%T", err)
		assert.NotZero(t, traitsOf(err)&hasAs, "%T", err)
	}
}

type late struct{ status int }

func (late) Error() string         { return "late" }
func (e late) HTTPStatusCode() int { return e.status }
func (late) Unwrap() error {
	return &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
}

// Who answered was sent to, though the error below is about a dial and the status
// is no failure. A status of 0 is no answer.
func TestAnAnswerWasSentFor(t *testing.T) {
	assert.False(t, Default.ExplainError(late{200}).NeverSent)
	assert.True(t, Default.ExplainError(late{0}).NeverSent)
}
