//go:build !race

package classify_test

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/classify"
)

// The race detector allocates on its own account, so these run without it.

func TestErrorAllocatesNothing(t *testing.T) {
	cases := append([]errorCase{
		{name: "retry after", err: directed{time.Second, &apiError{"SlowDown", 503}}},
		{name: "own As", err: convertible{read(sys("read", syscall.ECONNRESET))}},
	}, errorCases...)
	for name, answer := range map[string]func(io.Writer, uint32){
		"HTTP/2 reset":  func(w io.Writer, stream uint32) { writeReset(w, stream, h2RefusedStream) },
		"HTTP/2 GOAWAY": func(w io.Writer, stream uint32) { writeGoAway(w, stream, h2NoError, "") },
	} {
		cases = append(cases, errorCase{name: name, err: fetchH2(t, serveH2(t, answer))})
	}
	cycle := &wrapError{}
	cycle.err = cycle
	cases = append(cases, errorCase{name: "cycle", err: cycle})
	for _, c := range cases {
		for _, err := range []error{c.err, &wrapError{c.err}, errors.Join(silent{c.err}, c.err)} {
			assert.Zero(t, testing.AllocsPerRun(100, func() { classify.Default.Error(err) }), c.name)
			assert.Zero(t, testing.AllocsPerRun(100, func() { classify.Default.ExplainError(err) }), c.name)
		}
	}
}

// TestFirstSightOfATypeAllocatesNothing: what is remembered of a type is kept in
// a table of fixed size.
func TestFirstSightOfATypeAllocatesNothing(t *testing.T) {
	type once struct{ error }
	err := error(once{})
	var mallocs float64
	first := true
	mallocs = testing.AllocsPerRun(1, func() {
		if first { // the run that AllocsPerRun does not count
			first = false
			return
		}
		classify.Default.Error(err)
	})
	assert.Zero(t, mallocs)
}

func TestResponseAllocatesNothing(t *testing.T) {
	c := with(t, classify.Default, classify.Overrides{Codes: map[string]classify.Class{"X": transient}, Statuses: map[int]classify.Class{408: transient}})
	for _, code := range []string{"", "SlowDown", "X", "ValidationException", "ns#SlowDown:http://x/", " SlowDown ", "ns#"} {
		for _, status := range []int{0, 400, 408, 429, 503} {
			assert.Zero(t, testing.AllocsPerRun(100, func() {
				classify.Default.Response(status, code)
				classify.Default.ExplainResponse(status, code)
				c.Response(status, code)
				classify.NormalizeCode(code)
				classify.Default.ExplainSkewed(status, code, 0, time.Hour, true)
			}), "%d %q", status, code)
		}
	}
}

func TestReasonsAllocateNothing(t *testing.T) {
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for r := classify.RuleUnrecognized; r <= classify.RuleCancelled; r++ {
			_ = r.String()
			_ = r.Clause()
		}
		_ = classify.Throttling.String()
	}))
}

func TestSkewCandidateAllocatesNothing(t *testing.T) {
	now := time.Unix(1793951677, 0)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		classify.SkewCandidate("Fri, 06 Nov 2026 07:54:37 GMT", false, now, 0)
	}))
}
