package classify_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
)

// Faults that other retry libraries shipped, by their number in the list of
// peer faults; each test holds the value that is right here. Where that list
// and R3 differ, R3 wins, and the test says so.

func TestFault62Plain429IsAThrottle(t *testing.T) {
	assert.Equal(t, throttle, classify.Default.Response(429, ""))
	assert.Equal(t, throttle, classify.Default.Error(statusError(429)))
	// With a modelled error, the model is followed (R3.4).
	modelled := with(t, classify.Default, classify.Overrides{Codes: map[string]classify.Class{"OrderClosedException": final}})
	assert.Equal(t, final, modelled.Response(429, "OrderClosedException"))
	assert.Equal(t, final, classify.Default.Error(&markedError{false, &apiError{"OrderClosedException", 429}}))
}

func TestFault67ConnectionResetIsTransient(t *testing.T) {
	v := classify.Default.ExplainError(get(read(sys("read", syscall.ECONNRESET))))
	assert.Equal(t, classify.Verdict{Class: transient, Rule: classify.RuleReset, NeverSent: false}, v, "safe for idempotent requests only")
	v = classify.Default.ExplainError(get(dial(sys("connect", syscall.ECONNREFUSED))))
	assert.Equal(t, classify.Verdict{Class: transient, Rule: classify.RuleRefused, NeverSent: true}, v, "safe for any")
}

func TestFault68ClosedConnectionIsTransient(t *testing.T) {
	assert.Equal(t, transient, classify.Default.Error(fmt.Errorf("send: %w", net.ErrClosed)))
	// R3.8 wins over the text-only form: anybody can write these words.
	assert.Equal(t, final, classify.Default.Error(errors.New("use of closed network connection")))
}

func TestFault70NXDomainIsFinal(t *testing.T) {
	assert.Equal(t, final, classify.Default.Error(get(dial(&net.DNSError{IsNotFound: true}))))
}

func TestFault71RefusedAtBootIsTransient(t *testing.T) {
	// How often to try again at boot is the engine's to say; that it may is said here.
	assert.Equal(t, transient, classify.Default.Error(dial(sys("connect", syscall.ECONNREFUSED))))
}

func TestFault73HTTP2(t *testing.T) {
	goAway := fetchH2(t, serveH2(t, func(w io.Writer, stream uint32) { writeGoAway(w, stream, h2NoError, "") }))
	refused := fetchH2(t, serveH2(t, func(w io.Writer, stream uint32) { writeReset(w, stream, h2RefusedStream) }))
	assert.Equal(t, transient, classify.Default.Error(goAway))
	assert.Equal(t, transient, classify.Default.Error(refused))
	assert.True(t, classify.Default.ExplainError(refused).NeverSent, "safe for any method")
	// R3.2 names GOAWAY and REFUSED_STREAM and nothing else of HTTP/2; R3.8
	// rules the text-only form out.
	for _, code := range []h2Code{h2InternalError, h2EnhanceYourCalm} {
		err := fetchH2(t, serveH2(t, func(w io.Writer, stream uint32) { writeReset(w, stream, code) }))
		assert.Equal(t, classify.RuleStreamReset, classify.Default.ExplainError(err).Rule, "%v", err)
	}
	assert.Equal(t, final, classify.Default.Error(errors.New(goAway.Error())))
	assert.Equal(t, final, classify.Default.Error(errors.New(refused.Error())))
}

func TestFault74BodyOfA200(t *testing.T) {
	syntax := json.Unmarshal([]byte("{"), new(any))
	require.Error(t, syntax)
	for _, wrap := range []func(error) error{
		func(err error) error { return err },
		func(err error) error { return multiError{statusError(200), err} },
		func(err error) error { return multiError{&apiError{"", 200}, err} },
	} {
		v := classify.Default.ExplainError(wrap(io.ErrUnexpectedEOF))
		assert.Equal(t, transient, v.Class)
		assert.False(t, v.NeverSent, "it was sent: safe for idempotent requests only")
		assert.Equal(t, final, classify.Default.Error(wrap(syntax)))
	}
}

func TestFault76LimitExceededFollowsTheTableThenTheOverride(t *testing.T) {
	assert.Equal(t, throttle, classify.Default.Response(400, "LimitExceededException"))
	c := with(t, classify.Default, classify.Overrides{Codes: map[string]classify.Class{"LimitExceededException": final}})
	assert.Equal(t, final, c.Response(400, "LimitExceededException"))
}

func TestFault77EveryThrottleCodeHoweverDecorated(t *testing.T) {
	for _, code := range throttlingCodes {
		for _, c := range []string{code, "ns#" + code, code + ":http://x", code + " "} {
			assert.Equal(t, throttle, classify.Default.Response(400, c), c)
		}
		// R3.9: case matters.
		for _, c := range []string{"t" + code[1:], code + "x"} {
			assert.Equal(t, final, classify.Default.Response(400, c), c)
		}
	}
}

func TestFault79SkewUnderAnyOfItsCodes(t *testing.T) {
	for _, code := range []string{"InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure", "RequestTimeTooSkewed", "AccessDeniedException"} {
		assert.True(t, classify.SkewRetry(code, 0, 10*time.Minute, true), code)
		assert.False(t, classify.SkewRetry(code, 0, time.Minute, true), "gated: %s", code)
	}
}

func TestFault80SkewOfACachedResponseIsNone(t *testing.T) {
	now := time.Date(2026, 11, 6, 8, 0, 0, 0, time.UTC)
	date := "Fri, 06 Nov 2026 07:00:00 GMT"
	_, known := classify.SkewCandidate(date, true, now, 0)
	assert.False(t, known)
	// The clock is right again: the next response says so.
	candidate, known := classify.SkewCandidate("Fri, 06 Nov 2026 08:00:00 GMT", false, now, 0)
	assert.True(t, known)
	assert.Zero(t, candidate)
}

func TestFault82MarkersBeatTables(t *testing.T) {
	for _, err := range []error{&apiError{"SlowDown", 503}, &apiError{"ValidationException", 400}, syscall.ECONNRESET, errors.New("x")} {
		assert.NotEqual(t, final, classify.Default.Error(&markedError{true, err}), "%T", err)
		assert.Equal(t, final, classify.Default.Error(&markedError{false, err}), "%T", err)
	}
	assert.Equal(t, throttle, classify.Default.Error(&markedError{true, &apiError{"SlowDown", 503}}), "still a throttle")
}

func TestFault83WrappingHidesNothing(t *testing.T) {
	// At length in wrap_test.go; these are the forms that the fault names.
	err := error(syscall.ECONNRESET)
	for range 5 {
		err = fmt.Errorf("layer: %w", err)
		assert.Equal(t, transient, classify.Default.Error(err))
	}
	assert.Equal(t, transient, classify.Default.Error(errors.Join(errors.New("x"), err)))
	assert.Equal(t, transient, classify.Default.Error(multiError{nil, err}))
	assert.Equal(t, transient, classify.Default.Error(equalError{net.ErrClosed}))
	assert.Equal(t, transient, classify.Default.Error(convertible{read(err)}))
	assert.Equal(t, final, classify.Default.Error(get(nil)))
}

func TestFault85UnsupportedRequestsAreFinal(t *testing.T) {
	// With the real errors in TestRealMisuse.
	c := client(t, nil)
	assert.Equal(t, final, classify.Default.Error(fetch(c, "gopher://127.0.0.1/")))
	assert.Equal(t, final, classify.Default.Error(fetch(c, "http:///")))
}

func TestFault86HostDownAndTLSFailuresAreFinal(t *testing.T) {
	for _, err := range []error{
		x509.UnknownAuthorityError{}, x509.HostnameError{}, tls.RecordHeaderError{},
		&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
		dial(sys("connect", syscall.EHOSTDOWN)),
	} {
		assert.Equal(t, final, classify.Default.Error(get(err)), "%T", err)
	}
	// A handshake that takes too long is transient: TestRealTimeouts.
}

func TestFault88HintOfAHardQuotaIsExposed(t *testing.T) {
	v := classify.Default.ExplainError(directed{86400 * time.Second, statusError(429)})
	assert.Equal(t, classify.Verdict{Class: throttle, Rule: classify.RuleThrottleStatus, RetryAfter: 24 * time.Hour}, v)
}

func TestFault89DeadlineIsTheAttempts(t *testing.T) {
	// Whether the caller's context is alive, only the engine knows (R3.6).
	assert.Equal(t, transient, classify.Default.Error(get(context.DeadlineExceeded)))
}

func TestFault94CancelledIsFinal(t *testing.T) {
	assert.Equal(t, final, classify.Default.Error(get(context.Canceled)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:1")
	require.ErrorContains(t, err, "operation was canceled")
	assert.Equal(t, classify.RuleCancelled, classify.Default.ExplainError(err).Rule)
}

func TestFault95AttemptTimeoutIsNotACancel(t *testing.T) {
	parent := t.Context()
	attempt, cancel := context.WithDeadline(parent, time.Unix(1, 0))
	defer cancel()
	_, err := new(net.Dialer).DialContext(attempt, "tcp", "127.0.0.1:1")
	require.NoError(t, parent.Err())
	assert.Equal(t, transient, classify.Default.Error(err))
}

func TestFault130OneTableForEveryDoor(t *testing.T) {
	c := with(t, classify.Default, classify.Overrides{Codes: map[string]classify.Class{"Busy": throttle}, Statuses: map[int]classify.Class{425: transient}})
	for _, code := range append(append([]string{"", "Busy", "ns#SlowDown"}, transientCodes...), otherCodes...) {
		for status := 300; status <= 599; status++ {
			want := c.ExplainResponse(status, code)
			assert.Equal(t, want, c.ExplainError(&apiError{code, status}))
			assert.Equal(t, want, c.ExplainError(get(&wrapError{&apiError{code, status}})))
			assert.Equal(t, want.Class, c.Error(&apiError{code, status}))
			assert.Equal(t, want.Class, c.Response(status, code))
		}
	}
}
