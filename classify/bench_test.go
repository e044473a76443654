package classify_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/reprise-go/reprise/classify"
)

var benchErrors = []struct {
	name string
	err  error
}{
	{"code", &apiError{"ThrottlingException", 400}},
	{"unknown_code", &apiError{"ValidationException", 400}},
	{"wrapped_code", fmt.Errorf("op: %w", &apiError{"ThrottlingException", 400})},
	{"url_dial_refused", &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}}}},
	{"url_read_timeout", &url.Error{Op: "Get", Err: &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}}},
	{"eof", io.ErrUnexpectedEOF},
	{"url_deadline", &url.Error{Op: "Get", Err: context.DeadlineExceeded}},
	{"plain", errors.New("x")},
	{"joined2", errors.Join(io.EOF, errors.New("x"))},
	{"wrapped5", &wrapError{&wrapError{&wrapError{&wrapError{&wrapError{io.EOF}}}}}},
}

func BenchmarkError(b *testing.B) {
	for _, bb := range benchErrors {
		b.Run("kind="+bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if classify.Default.Error(bb.err) > classify.Throttling {
					b.Fatal()
				}
			}
		})
	}
}

func BenchmarkResponse(b *testing.B) {
	for _, bb := range []struct {
		status int
		code   string
	}{{400, "ThrottlingException"}, {400, "ValidationException"}, {503, ""}, {400, "com.amazonaws.dynamodb.v20120810#ThrottlingException"}} {
		b.Run(fmt.Sprintf("status=%d/code=%s", bb.status, bb.code), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if classify.Default.Response(bb.status, bb.code) > classify.Throttling {
					b.Fatal()
				}
			}
		})
	}
}
