package classify_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/reprise-go/reprise/classify"
)

var benchErrors = []struct {
	kind string
	err  error
}{
	{"code", &apiError{"ThrottlingException", 400}},
	{"unknown_code", &apiError{"ValidationException", 400}},
	{"wrapped_code", fmt.Errorf("op: %w", silent{&apiError{"ThrottlingException", 400}})},
	{"status", statusError(503)},
	{"marked", &markedError{true, nil}},
	{"url_dial_refused", get(dial(sys("connect", syscall.ECONNREFUSED)))},
	{"url_read_reset", get(read(sys("read", syscall.ECONNRESET)))},
	{"url_read_timeout", get(read(os.ErrDeadlineExceeded))},
	{"url_deadline", get(context.DeadlineExceeded)},
	{"eof", io.ErrUnexpectedEOF},
	{"unknown", errors.New("x")},
	{"join_2", errors.Join(io.EOF, errors.New("x"))},
	{"wrapped_5", &wrapError{&wrapError{&wrapError{&wrapError{&wrapError{io.EOF}}}}}},
}

func BenchmarkError(b *testing.B) {
	for _, bb := range benchErrors {
		b.Run("kind="+bb.kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				classify.Default.Error(bb.err)
			}
		})
	}
}

// BenchmarkErrorMixed meets all the kinds in turn, so that no branch and no
// cache line is the last call's.
func BenchmarkErrorMixed(b *testing.B) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		classify.Default.Error(benchErrors[i].err)
		if i++; i == len(benchErrors) {
			i = 0
		}
	}
}

func BenchmarkErrorCycle(b *testing.B) {
	b.ReportAllocs()
	cycle := &wrapError{}
	cycle.err = cycle
	for b.Loop() {
		classify.Default.Error(cycle)
	}
}

func BenchmarkErrorParallel(b *testing.B) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		err := benchErrors[0].err
		for pb.Next() {
			classify.Default.Error(err)
		}
	})
}

func BenchmarkResponse(b *testing.B) {
	for _, bb := range []struct {
		kind   string
		status int
		code   string
	}{
		{"code", 400, "ThrottlingException"},
		{"decorated_code", 400, "com.amazonaws.dynamodb.v20120810#ThrottlingException"},
		{"unknown_code", 400, "ValidationException"},
		{"status", 503, ""},
	} {
		b.Run("kind="+bb.kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				classify.Default.Response(bb.status, bb.code)
			}
		})
	}
}

func BenchmarkResponseOverridden(b *testing.B) {
	c, err := classify.Default.With(classify.Overrides{Codes: map[string]classify.Class{"X": classify.Transient}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Response(400, "ThrottlingException")
	}
}

func BenchmarkNormalizeCode(b *testing.B) {
	for _, code := range []string{"ThrottlingException", "ns#ThrottlingException:http://x/"} {
		b.Run(fmt.Sprintf("length=%d", len(code)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				classify.NormalizeCode(code)
			}
		})
	}
}
