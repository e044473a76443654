package classify_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
)

func TestEachKindOfError(t *testing.T) {
	for _, c := range errorCases {
		t.Run(c.name, func(t *testing.T) {
			v := classify.Default.ExplainError(c.err)
			assert.Equal(t, c.class, v.Class)
			assert.Equal(t, c.rule, v.Rule, "%v, want %v", v.Rule, c.rule)
			assert.Equal(t, c.clause, clauseOf(c, v))
			assert.Equal(t, c.neverSent, v.NeverSent, "NeverSent")
			assert.Equal(t, v.Class, classify.Default.Error(c.err), "Error and ExplainError differ")
		})
	}
}

// clauseOf lets a row name the clause it tests where the deciding rule belongs
// to another: a code that is normalised (R3.9), a deadline inside DNS (R3.6).
func clauseOf(c errorCase, v classify.Verdict) string {
	switch {
	case c.clause == "R3.9" && v.Rule == classify.RuleThrottlingCode,
		c.clause == "R3.6" && v.Rule == classify.RuleDNSTemporary:
		return c.clause
	}
	return v.Rule.Clause()
}

func TestNilErrorIsNoFailure(t *testing.T) {
	assert.Equal(t, classify.Verdict{Rule: classify.RuleSuccess}, classify.Default.ExplainError(nil))
}

func TestNilAndZeroClassifierHoldTheRules(t *testing.T) {
	var none *classify.Classifier
	zero := new(classify.Classifier)
	for _, c := range errorCases {
		want := classify.Default.ExplainError(c.err)
		assert.Equal(t, want, none.ExplainError(c.err), c.name)
		assert.Equal(t, want, zero.ExplainError(c.err), c.name)
	}
	assert.Equal(t, throttle, none.Response(429, ""))
	assert.Equal(t, transient, zero.Response(500, ""))
}

func TestTypedNilIsNotAsked(t *testing.T) {
	for _, err := range []error{
		(*url.Error)(nil), (*net.OpError)(nil), (*os.SyscallError)(nil), (*net.DNSError)(nil),
		(*tls.CertificateVerificationError)(nil), (*net.AddrError)(nil), (*net.ParseError)(nil),
		(*tls.ECHRejectionError)(nil), (*apiError)(nil), (*markedError)(nil), (*wrapError)(nil),
		multiError(nil),
	} {
		for _, e := range []error{err, get(err), &wrapError{err}, errors.Join(err)} {
			assert.NotPanics(t, func() {
				v := classify.Default.ExplainError(e)
				assert.Equal(t, final, v.Class, "%T", err)
				assert.False(t, v.NeverSent, "%T", err)
			}, "%T", err)
		}
	}
}

func TestNilInnerErrorEndsTheChain(t *testing.T) {
	for _, err := range []error{get(nil), read(nil), sys("read", nil), &wrapError{}, multiError{nil, nil}, &net.DNSError{}} {
		assert.Equal(t, final, classify.Default.Error(err), "%T", err)
	}
	assert.True(t, classify.Default.ExplainError(dial(nil)).NeverSent)
}

func TestJoinedErrorsStrongestRuleWins(t *testing.T) {
	// R3.6 > R3.5 > code > status > final transport failure > transient one.
	ladder := []struct {
		err   error
		class classify.Class
	}{
		{context.Canceled, final},
		{&markedError{false, nil}, final},
		{&apiError{"SlowDown", 400}, throttle},
		{&apiError{"InternalError", 400}, transient},
		{statusError(429), throttle},
		{statusError(503), transient},
		{dial(sys("socket", syscall.EMFILE)), final},
		{&net.DNSError{IsNotFound: true}, final},
		{syscall.ECONNRESET, transient},
		{statusError(403), final},
		{errors.New("x"), final},
	}
	for i, strong := range ladder {
		for _, weak := range ladder[i+1:] {
			assert.Equal(t, strong.class, classify.Default.Error(errors.Join(silent{strong.err}, silent{weak.err})), "%T + %T", strong.err, weak.err)
			if reflect.TypeOf(strong.err) != reflect.TypeOf(weak.err) || !isAnswer(weak.err) { // of two codes or two statuses the first counts
				assert.Equal(t, strong.class, classify.Default.Error(errors.Join(silent{weak.err}, silent{strong.err})), "%T + %T", weak.err, strong.err)
			}
		}
	}
}

func isAnswer(err error) bool {
	switch err.(type) {
	case *apiError, statusError:
		return true
	}
	return false
}

func TestFirstRecognisedCodeCounts(t *testing.T) {
	slow, timeout, unknown := &apiError{"SlowDown", 0}, &apiError{"RequestTimeout", 0}, &apiError{"Wrapped", 0}
	for _, c := range []struct {
		err  error
		want classify.Class
	}{
		{multiError{slow, timeout}, throttle},
		{multiError{timeout, slow}, transient},
		{multiError{unknown, slow}, throttle}, // a wrapper's own code hides nothing
		{multiError{slow, unknown}, throttle},
	} {
		assert.Equal(t, c.want, classify.Default.Error(c.err))
	}
}

func TestFirstFailingStatusCounts(t *testing.T) {
	assert.Equal(t, final, classify.Default.Error(multiError{statusError(403), statusError(503)}))
	assert.Equal(t, transient, classify.Default.Error(multiError{statusError(503), statusError(403)}))
	assert.Equal(t, transient, classify.Default.Error(multiError{statusError(200), statusError(503)}))
}

func TestOutermostMarkerCounts(t *testing.T) {
	// R3.5: who wraps an error has the last word on it.
	assert.Equal(t, transient, classify.Default.Error(&markedError{true, &markedError{false, nil}}))
	assert.Equal(t, final, classify.Default.Error(&markedError{false, &markedError{true, nil}}))
}

func TestNeverSentNeedsEveryBranch(t *testing.T) {
	refused := dial(sys("connect", syscall.ECONNREFUSED))
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"two dials", errors.Join(refused, refused), true},
		{"a dial and a read", errors.Join(refused, read(sys("read", syscall.ECONNRESET))), false},
		{"a dial and something unknown", errors.Join(refused, errors.New("x")), false},
		{"a dial under a status", answered{apiError{"", 503}, refused}, false},
		{"a dial under a code", answered{apiError{"SlowDown", 0}, refused}, false},
		{"a dial under an unknown code", answered{apiError{"X", 0}, refused}, false},
		{"a dial under neither", answered{apiError{"", 0}, refused}, true},
		{"a read from the proxy", &net.OpError{Op: "socks connect", Err: read(syscall.ECONNRESET)}, true},
		{"a dial behind an empty code", multiError{refused, dial(&apiError{"", 0})}, true},
		{"a dial that dials", dial(errors.Join(errors.New("x"), errors.New("y"))), true},
	} {
		assert.Equal(t, c.want, classify.Default.ExplainError(c.err).NeverSent, c.name)
	}
}

// What the walk's budget hides may be an answer: only what was seen to its end
// proves that nothing was sent.
func TestNeverSentNeedsTheWholeChain(t *testing.T) {
	refused := dial(sys("connect", syscall.ECONNREFUSED))
	deep := error(errors.New("x"))
	for range 5000 {
		deep = &wrapError{deep}
	}
	cycle := &wrapError{}
	cycle.err = cycle
	for _, hidden := range []error{deep, cycle} {
		for _, err := range []error{errors.Join(refused, hidden), dial(hidden)} {
			assert.False(t, classify.Default.ExplainError(err).NeverSent)
		}
		assert.Equal(t, transient, classify.Default.Error(errors.Join(refused, hidden)), "what was seen counts")
	}
}

func TestRetryAfterIsCarried(t *testing.T) {
	slow := &apiError{"SlowDown", 503}
	v := classify.Default.ExplainError(&wrapError{directed{3 * time.Second, slow}})
	assert.Equal(t, classify.Verdict{Class: throttle, Rule: classify.RuleThrottlingCode, RetryAfter: 3 * time.Second}, v)
	// R5.1: never makes an error retryable, and nonsense is no delay.
	assert.Equal(t, final, classify.Default.Error(directed{time.Second, errors.New("x")}))
	assert.Zero(t, classify.Default.ExplainError(directed{-time.Second, slow}).RetryAfter)
	// The first that says something counts.
	assert.Equal(t, time.Second, classify.Default.ExplainError(directed{0, directed{time.Second, directed{time.Minute, nil}}}).RetryAfter)
}

// answered is an answer whose cause was another failure.
type answered struct {
	apiError
	err error
}

func (a answered) Error() string       { panic("Error was called") }
func (a answered) ErrorCode() string   { return a.code }
func (a answered) HTTPStatusCode() int { return a.status }
func (a answered) Unwrap() error       { return a.err }

// convertible answers errors.As, and wraps nothing.
type convertible struct{ to error }

func (convertible) Error() string { panic("Error was called") }
func (c convertible) As(target any) bool {
	switch p := target.(type) {
	case **net.OpError:
		e, ok := c.to.(*net.OpError)
		*p = e
		return ok
	case **net.DNSError:
		e, ok := c.to.(*net.DNSError)
		*p = e
		return ok
	case *syscall.Errno:
		e, ok := c.to.(syscall.Errno)
		*p = e
		return ok
	case *interface{ ErrorCode() string }:
		e, ok := c.to.(interface{ ErrorCode() string })
		*p = e
		return ok
	}
	return false
}

// convertibleWrapper wraps one error and turns into another.
type convertibleWrapper struct {
	convertible
	err error
}

func (c convertibleWrapper) Unwrap() error { return c.err }

// selfish turns into itself for whoever asks.
type selfish struct{ err error }

func (selfish) Error() string { panic("Error was called") }
func (s selfish) As(target any) bool {
	p, ok := target.(*interface{ Timeout() bool })
	if ok {
		*p = s
	}
	return ok
}
func (selfish) Timeout() bool   { return false }
func (s selfish) Unwrap() error { return s.err }

func TestOwnAsMethodIsHeard(t *testing.T) {
	for _, c := range []struct {
		to        error
		rule      classify.Rule
		neverSent bool
	}{
		{read(sys("read", syscall.ECONNRESET)), classify.RuleReset, false},
		{dial(sys("connect", syscall.ECONNREFUSED)), classify.RuleRefused, true},
		{&net.DNSError{IsNotFound: true}, classify.RuleDNSNotFound, true},
		{syscall.EPIPE, classify.RuleReset, false},
		{&apiError{"SlowDown", 400}, classify.RuleThrottlingCode, false},
		{errors.New("x"), classify.RuleUnrecognized, false},
	} {
		v := classify.Default.ExplainError(convertible{c.to})
		assert.Equal(t, c.rule, v.Rule, "%v", v.Rule)
		assert.Equal(t, c.neverSent, v.NeverSent)
	}
	assert.Equal(t, throttle, classify.Default.Error(selfish{&apiError{"SlowDown", 0}}), "one that turns into itself")
	assert.Equal(t, throttle, classify.Default.Error(convertibleWrapper{convertible{read(syscall.EPIPE)}, &apiError{"SlowDown", 0}}), "what it wraps is not forgotten")
}

func TestAgreesWithErrorsIsOnRealSentinels(t *testing.T) {
	// The shortcuts by type must see what errors.Is sees.
	for _, s := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, os.ErrDeadlineExceeded} {
		require.NotEqual(t, classify.RuleUnrecognized, classify.Default.ExplainError(s).Rule, "%v", s)
	}
}
