package classify_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/reprise-go/reprise/classify"
)

// Errors of the tests panic when asked for their message: no class may come
// from one (R3.8).

type apiError struct {
	code   string
	status int
}

func (e *apiError) Error() string       { panic("Error was called") }
func (e *apiError) ErrorCode() string   { return e.code }
func (e *apiError) HTTPStatusCode() int { return e.status }

type statusError int

func (e statusError) Error() string       { panic("Error was called") }
func (e statusError) HTTPStatusCode() int { return int(e) }

// markedError speaks for itself and wraps another, or nothing.
type markedError struct {
	retryable bool
	err       error
}

func (e *markedError) Error() string        { panic("Error was called") }
func (e *markedError) RetryableError() bool { return e.retryable }
func (e *markedError) Unwrap() error        { return e.err }

type timeoutError struct{ timeout bool }

func (e timeoutError) Error() string { panic("Error was called") }
func (e timeoutError) Timeout() bool { return e.timeout }

// wrapError is a user's own wrapper.
type wrapError struct{ err error }

func (w *wrapError) Error() string { panic("Error was called") }
func (w *wrapError) Unwrap() error { return w.err }

type multiError []error

func (m multiError) Error() string   { panic("Error was called") }
func (m multiError) Unwrap() []error { return m }

// equalError answers errors.Is for another error that it does not wrap.
type equalError struct{ target error }

func (e equalError) Error() string        { panic("Error was called") }
func (e equalError) Is(target error) bool { return target == e.target }

func dial(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
func read(err error) error { return &net.OpError{Op: "read", Net: "tcp", Err: err} }

func get(err error) error {
	return &url.Error{Op: "Get", URL: "http://127.0.0.1/", Err: err}
}

func sys(call string, err error) error { return &os.SyscallError{Syscall: call, Err: err} }

type errorCase struct {
	name   string
	clause string
	err    error
	class  classify.Class
	rule   classify.Rule
	// neverSent is whether the error proves that nothing was sent.
	neverSent bool
}

const (
	final     = classify.NonRetryable
	transient = classify.Transient
	throttle  = classify.Throttling
)

// errorCases holds one error of each kind; the tests of wrapping, allocation
// and agreement run over all of them.
var errorCases = []errorCase{
	{"nothing known", "R3.3", errors.New("connection reset by peer"), final, classify.RuleUnrecognized, false},

	{"reset", "R3.2", get(read(sys("read", syscall.ECONNRESET))), transient, classify.RuleReset, false},
	{"reset, bare errno", "R3.2", syscall.ECONNRESET, transient, classify.RuleReset, false},
	{"aborted", "R3.2", read(sys("read", syscall.ECONNABORTED)), transient, classify.RuleReset, false},
	{"reset of the network", "R3.2", read(sys("read", syscall.ENETRESET)), transient, classify.RuleReset, false},
	{"broken pipe", "R3.2", &net.OpError{Op: "write", Err: sys("write", syscall.EPIPE)}, transient, classify.RuleReset, false},
	{"refused", "R3.2", get(dial(sys("connect", syscall.ECONNREFUSED))), transient, classify.RuleRefused, true},
	{"refused, bare errno", "R3.2", syscall.ECONNREFUSED, transient, classify.RuleRefused, false},
	{"refused by the proxy", "R3.2", get(&net.OpError{Op: "proxyconnect", Err: dial(sys("connect", syscall.ECONNREFUSED))}), transient, classify.RuleRefused, true},
	{"SOCKS proxy reset", "R3.2", get(&net.OpError{Op: "socks connect", Err: sys("read", syscall.ECONNRESET)}), transient, classify.RuleReset, true},
	{"closed", "R3.2", read(net.ErrClosed), transient, classify.RuleClosed, false},
	{"closed, bare", "R3.2", net.ErrClosed, transient, classify.RuleClosed, false},
	{"closed pipe", "R3.2", io.ErrClosedPipe, transient, classify.RuleClosed, false},
	{"not connected", "R3.2", read(sys("write", syscall.ENOTCONN)), transient, classify.RuleClosed, false},
	{"shut down", "R3.2", read(sys("write", syscall.ESHUTDOWN)), transient, classify.RuleClosed, false},
	{"unexpected EOF", "R3.2", io.ErrUnexpectedEOF, transient, classify.RuleEOF, false},
	{"EOF in a transport error", "R3.2", get(io.EOF), transient, classify.RuleEOF, false},
	{"EOF, bare", "R3.2", io.EOF, transient, classify.RuleEOF, false},
	{"socket time-out", "R3.2", read(os.ErrDeadlineExceeded), transient, classify.RuleTimeout, false},
	{"time-out by errno", "R3.2", read(sys("read", syscall.ETIMEDOUT)), transient, classify.RuleTimeout, false},
	{"time-out by SO_RCVTIMEO", "R3.2", read(sys("read", syscall.EAGAIN)), transient, classify.RuleTimeout, false},
	{"dial time-out", "R3.2", dial(timeoutError{true}), transient, classify.RuleTimeout, true},
	{"dial time-out by errno", "R3.2", dial(sys("connect", syscall.ETIMEDOUT)), transient, classify.RuleTimeout, true},
	{"Timeout() says true", "R3.2", timeoutError{true}, transient, classify.RuleTimeout, false},
	{"Timeout() says false", "R3.3", timeoutError{false}, final, classify.RuleUnrecognized, false},
	{"DNS, temporary", "R3.2", dial(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), transient, classify.RuleDNSTemporary, true},
	{"DNS, time-out", "R3.2", &net.DNSError{IsTimeout: true}, transient, classify.RuleDNSTemporary, true},

	{"attempt's deadline", "R3.6", get(context.DeadlineExceeded), transient, classify.RuleAttemptDeadline, false},
	{"attempt's deadline by Is", "R3.6", equalError{context.DeadlineExceeded}, transient, classify.RuleAttemptDeadline, false},
	{"attempt's deadline in DNS", "R3.6", dial(&net.DNSError{IsTimeout: true, UnwrapErr: context.DeadlineExceeded}), transient, classify.RuleDNSTemporary, true},
	{"cancelled", "R3.6", get(context.Canceled), final, classify.RuleCancelled, false},
	{"cancelled by Is", "R3.6", equalError{context.Canceled}, final, classify.RuleCancelled, false},
	{"cancelled in DNS", "R3.6", dial(&net.DNSError{IsTemporary: true, UnwrapErr: context.Canceled}), final, classify.RuleCancelled, true},
	{"closed by Is", "R3.2", equalError{net.ErrClosed}, transient, classify.RuleClosed, false},
	{"unexpected EOF by Is", "R3.2", equalError{io.ErrUnexpectedEOF}, transient, classify.RuleEOF, false},
	{"EOF by Is", "R3.2", equalError{io.EOF}, transient, classify.RuleEOF, false},
	{"time-out by Is", "R3.2", equalError{os.ErrDeadlineExceeded}, transient, classify.RuleTimeout, false},

	{"NXDOMAIN", "R3.7", get(dial(&net.DNSError{IsNotFound: true})), final, classify.RuleDNSNotFound, true},
	{"NXDOMAIN, said to be temporary", "R3.7", &net.DNSError{IsNotFound: true, IsTemporary: true}, final, classify.RuleDNSNotFound, true},
	{"DNS, neither", "R3.3", &net.DNSError{Err: "lame referral"}, final, classify.RuleDNSPermanent, true},
	{"host down", "R3.3", get(dial(sys("connect", syscall.EHOSTDOWN))), final, classify.RuleUnreachable, true},
	{"host unreachable", "R3.3", dial(sys("connect", syscall.EHOSTUNREACH)), final, classify.RuleUnreachable, true},
	{"network unreachable", "R3.3", dial(sys("connect", syscall.ENETUNREACH)), final, classify.RuleUnreachable, true},
	{"network down", "R3.3", read(sys("read", syscall.ENETDOWN)), final, classify.RuleUnreachable, false},
	{"no more files", "R3.3", get(dial(sys("socket", syscall.EMFILE))), final, classify.RuleLocalFault, true},
	{"no more files, system", "R3.3", get(dial(sys("socket", syscall.ENFILE))), final, classify.RuleLocalFault, true},
	{"no more buffers", "R3.3", get(dial(sys("connect", syscall.ENOBUFS))), final, classify.RuleLocalFault, true},
	{"no more memory", "R3.3", get(dial(sys("connect", syscall.ENOMEM))), final, classify.RuleLocalFault, true},
	{"no more ports", "R3.3", get(dial(sys("connect", syscall.EADDRNOTAVAIL))), final, classify.RuleLocalFault, true},
	{"port in use", "R3.3", get(dial(sys("bind", syscall.EADDRINUSE))), final, classify.RuleLocalFault, true},
	{"errno without a rule", "R3.3", get(dial(sys("connect", syscall.EACCES))), final, classify.RuleUnrecognized, true},

	{"unknown authority", "R3.3", get(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), final, classify.RuleCertificate, true},
	{"unknown authority, bare", "R3.3", x509.UnknownAuthorityError{}, final, classify.RuleCertificate, false},
	{"wrong host name", "R3.3", x509.HostnameError{}, final, classify.RuleCertificate, false},
	{"certificate expired", "R3.3", x509.CertificateInvalidError{Reason: x509.Expired}, final, classify.RuleCertificate, false},
	{"system roots", "R3.3", x509.SystemRootsError{}, final, classify.RuleCertificate, false},
	{"not TLS", "R3.3", get(tls.RecordHeaderError{}), final, classify.RuleTLS, false},
	{"TLS alert, exported type", "R3.3", tls.AlertError(40), final, classify.RuleTLS, false},
	{"ECH rejected", "R3.3", &tls.ECHRejectionError{}, final, classify.RuleTLS, false},

	{"bad URL", "R3.3", &url.Error{Op: "parse", Err: url.EscapeError("%zz")}, final, classify.RuleBadRequest, false},
	{"bad host in URL", "R3.3", url.InvalidHostError(" "), final, classify.RuleBadRequest, false},
	{"missing port", "R3.3", dial(&net.AddrError{Err: "missing port in address"}), final, classify.RuleBadRequest, true},
	{"unknown network", "R3.3", dial(net.UnknownNetworkError("x")), final, classify.RuleBadRequest, true},

	{"throttling code", "R3.1", &apiError{"ThrottlingException", 400}, throttle, classify.RuleThrottlingCode, false},
	{"throttling code with 503", "R3.1", &apiError{"SlowDown", 503}, throttle, classify.RuleThrottlingCode, false},
	{"throttling code with 200", "R3.1", &apiError{"SlowDown", 200}, throttle, classify.RuleThrottlingCode, false},
	{"transient code", "R3.2", &apiError{"RequestTimeout", 400}, transient, classify.RuleTransientCode, false},
	{"decorated code", "R3.9", &apiError{"ns#ThrottlingException:http://x/", 400}, throttle, classify.RuleThrottlingCode, false},
	{"unknown code", "R3.3", &apiError{"ValidationException", 400}, final, classify.RuleUnknownCode, false},
	{"unknown code with 503", "R3.2", &apiError{"ServiceUnavailable", 503}, transient, classify.RuleServerStatus, false},
	{"unknown code with 429", "R3.4", &apiError{"Busy", 429}, throttle, classify.RuleThrottleStatus, false},
	{"no code with 429", "R3.4", statusError(429), throttle, classify.RuleThrottleStatus, false},
	{"no code with 500", "R3.2", statusError(500), transient, classify.RuleServerStatus, false},
	{"no code with 501", "R3.3", statusError(501), final, classify.RuleFinalStatus, false},
	{"200 and a cut body", "R3.2", multiError{statusError(200), io.ErrUnexpectedEOF}, transient, classify.RuleEOF, false},

	{"marked retryable", "R3.5", &markedError{true, nil}, transient, classify.RuleMarkedRetryable, false},
	{"marked final", "R3.5", &markedError{false, nil}, final, classify.RuleMarkedFinal, false},
	{"marked retryable over a final code", "R3.5", &markedError{true, &apiError{"ValidationException", 400}}, transient, classify.RuleMarkedRetryable, false},
	{"marked retryable over a throttling code", "R3.5", &markedError{true, &apiError{"SlowDown", 400}}, throttle, classify.RuleMarkedThrottled, false},
	{"marked final over a throttling code", "R3.5", &markedError{false, &apiError{"SlowDown", 503}}, final, classify.RuleMarkedFinal, false},
	{"marked final over a reset", "R3.5", &markedError{false, syscall.ECONNRESET}, final, classify.RuleMarkedFinal, false},
	{"marked retryable over NXDOMAIN", "R3.5", &markedError{true, &net.DNSError{IsNotFound: true}}, transient, classify.RuleMarkedRetryable, true},
	{"marked retryable over a cancel", "R3.6", &markedError{true, context.Canceled}, final, classify.RuleCancelled, false},
}

// wrappings are the ways in which code hands errors on; none may change a class.
var wrappings = []struct {
	name string
	// single says that the wrapper holds the error and nothing beside it.
	single bool
	wrap   func(error) error
}{
	{"%w", true, func(err error) error { return fmt.Errorf("op: %w", silent{err}) }},
	{"own Unwrap", true, func(err error) error { return &wrapError{err} }},
	{"url.Error", true, get},
	{"join of one", true, func(err error) error { return errors.Join(err, nil) }},
	{"own Unwrap of one", true, func(err error) error { return multiError{nil, err} }},
	{"join, first", false, func(err error) error { return errors.Join(err, errors.New("x")) }},
	{"join, last", false, func(err error) error { return errors.Join(errors.New("x"), err) }},
	{"two %w", false, func(err error) error { return fmt.Errorf("%w: %w", errors.New("x"), silent{err}) }},
}

// silent lets fmt print an error that panics when printed.
type silent struct{ error }

func (silent) Error() string   { return "" }
func (s silent) Unwrap() error { return s.error }

// directed carries a delay that the server asked for.
type directed struct {
	after time.Duration
	err   error
}

func (d directed) Error() string             { panic("Error was called") }
func (d directed) RetryAfter() time.Duration { return d.after }
func (d directed) Unwrap() error             { return d.err }
