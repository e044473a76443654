package differential_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// kind is a way for an attempt to fail. Its error is built as the SDK's client
// stack builds it.
type kind struct {
	make func(p *step) error
	// differ names the difference that the kind is there for, "" if none.
	differ string
	draw   func(r *rand.Rand, p *step) // status and code
	// parts says that it leaves the quotas or limiters apart for good, and so ends
	// the script.
	parts  bool
	replay string // as cmd/reprise's files call it, "" if they cannot
}

// modelled is a service's error that was read into a type of its own (R3.4).
type modelled struct{ code string }

func (e *modelled) Error() string                 { return e.code }
func (e *modelled) ErrorCode() string             { return e.code }
func (e *modelled) ErrorMessage() string          { return "" }
func (e *modelled) ErrorFault() smithy.ErrorFault { return smithy.FaultUnknown }

// marked is an error that speaks for itself (R3.5).
type marked struct {
	error
	retryable bool
}

func (e *marked) RetryableError() bool { return e.retryable }
func (e *marked) Unwrap() error        { return e.error }

// answered is an error that a response brought.
func answered(p *step, err error) error {
	header := http.Header{}
	if p.Hint != "" {
		header["X-Amz-Retry-After"] = []string{p.Hint}
	}
	return &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: p.Status, Header: header}},
		Err:      err,
	}
}

// sent is an error of the HTTP client.
func sent(err error) error {
	return &smithyhttp.RequestSendError{Err: &url.Error{Op: "Post", URL: "https://service.example/", Err: err}}
}

func socket(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}, Err: err}
}

func errno(op, call string, number syscall.Errno) error {
	return socket(op, os.NewSyscallError(call, number))
}

func sending(replay, differ string, err error) kind {
	whole := sent(err)
	return kind{make: func(*step) error { return whole }, replay: replay, differ: differ}
}

func generic(p *step) error {
	if p.Code == "" {
		return answered(p, &smithy.GenericAPIError{Code: "UnknownError"})
	}
	return answered(p, &smithy.GenericAPIError{Code: p.Code})
}

func oneOf[T any](of ...T) func(*rand.Rand) T {
	return func(r *rand.Rand) T { return of[r.IntN(len(of))] }
}

func drawn(status func(*rand.Rand) int, code func(*rand.Rand) string) func(*rand.Rand, *step) {
	return func(r *rand.Rand, p *step) {
		p.Status, p.Code = status(r), code(r)
		if p.Status == 429 && (p.Code == "RequestTimeout" || p.Code == "RequestTimeoutException") {
			p.Status = 400 // that is a kind of its own
		}
	}
}

var (
	anyStatus = oneOf(400, 401, 403, 404, 409, 429, 500, 500, 501, 502, 503, 503, 504, 505, 509, 200, 302)
	client    = oneOf(400, 401, 403, 404, 409, 501, 505)
	anyCode   = oneOf("", "RequestTimeout", "RequestTimeoutException", "AccessDeniedException", "ValidationException",
		"ResourceNotFoundException", "throttling", "Throttled", "UnknownError")
	skewCode = oneOf("InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure", "RequestTimeTooSkewed", "AccessDeniedException")
)

const ms = time.Millisecond

var kinds = map[string]kind{
	"ok":     {},
	"answer": {make: generic, draw: drawn(anyStatus, anyCode), replay: "answer"},
	"modelled": {
		make: func(p *step) error { return answered(p, &modelled{p.Code}) },
		draw: drawn(anyStatus, oneOf("LimitExceededException", "SlowDown", "ValidationException", "RequestTimeout", "Gone")),
	},
	"retryable": {
		make: func(p *step) error { return answered(p, &marked{&smithy.GenericAPIError{Code: p.Code}, true}) },
		draw: drawn(anyStatus, anyCode),
	},
	"final": {
		make: func(p *step) error { return answered(p, &marked{&smithy.GenericAPIError{Code: p.Code}, false}) },
		draw: drawn(oneOf(400, 403, 500, 502, 503, 504, 200), oneOf("", "RequestTimeout", "ValidationException")),
	},
	"final_throttle": {
		make:   func(p *step) error { return answered(p, &marked{&smithy.GenericAPIError{Code: p.Code}, false}) },
		differ: markedThrottle, parts: true,
		draw: drawn(anyStatus, oneOf(throttlingCodes...)),
	},
	// The Date is a multiple of a second, so the differences are not exact: these lie
	// far from the 4 minutes, and the next two around them to the second.
	"skew": {
		make: generic,
		draw: func(r *rand.Rand, p *step) {
			p.Status, p.Code = client(r), skewCode(r)
			p.Skew = oneOf(0, time.Second, -3*time.Minute, 239*time.Second, 242*time.Second, -242*time.Second, 10*time.Minute, -time.Hour)(r)
		},
	},

	"reset":          sending("reset", "", errno("read", "read", syscall.ECONNRESET)),
	"refused":        sending("refused", "", errno("dial", "connect", syscall.ECONNREFUSED)),
	"broken_pipe":    sending("broken_pipe", "", errno("write", "write", syscall.EPIPE)),
	"closed":         sending("closed", "", socket("read", net.ErrClosed)),
	"eof":            sending("eof", "", io.EOF),
	"unexpected_eof": sending("unexpected_eof", "", io.ErrUnexpectedEOF),
	"timeout":        sending("timeout", "", socket("read", os.ErrDeadlineExceeded)),
	"dial_timeout":   sending("dial_timeout", "", socket("dial", os.ErrDeadlineExceeded)),
	"dns_temporary":  sending("dns_temporary", "", socket("dial", &net.DNSError{Err: "server misbehaving", IsTemporary: true})),
	"dns_timeout":    sending("dns_timeout", "", socket("dial", &net.DNSError{Err: "i/o timeout", IsTimeout: true, IsTemporary: true})),
	"dns_not_found":  sending("dns_not_found", "", socket("dial", &net.DNSError{Err: "no such host", IsNotFound: true})),

	"internal": {
		make: generic, differ: internalError, replay: "answer",
		draw: drawn(client, oneOf("InternalError", "IDPCommunicationError")),
	},
	"decorated": {
		make: generic, differ: decoratedCode, replay: "answer",
		draw: drawn(client, oneOf("ns#RequestTimeout", "RequestTimeoutException:http://x/", " RequestTimeout ", "a.b#RequestTimeout:http://x/")),
	},
	"internal_5xx": {make: generic, replay: "answer", draw: drawn(oneOf(500, 502, 503, 504), oneOf("InternalError", "IDPCommunicationError"))},
	"timeout_429": {
		make: generic, differ: codeFirst, parts: true, replay: "answer",
		draw: func(r *rand.Rand, p *step) {
			p.Status, p.Code = 429, oneOf("RequestTimeout", "RequestTimeoutException")(r)
		},
	},
	"decorated_throttle": {
		make: generic, differ: decoratedCode, parts: true, replay: "answer",
		draw: drawn(client, oneOf("ns#Throttling", "SlowDown:http://x/", " ThrottlingException ", "a.b#LimitExceededException:http://x/")),
	},
	"message": {
		make: func(p *step) error {
			return answered(p, &smithy.GenericAPIError{Code: p.Code, Message: "upstream: connection reset by peer"})
		},
		differ: messageText,
		draw:   drawn(client, oneOf("ValidationException", "Conflict")),
	},
	"closed_text": {
		make:   func(p *step) error { return errors.New("use of closed network connection") },
		differ: messageText,
	},
	"short_body": {
		make: func(p *step) error {
			return answered(p, &smithy.DeserializationError{Err: io.ErrUnexpectedEOF})
		},
		differ: shortBody,
		draw:   func(r *rand.Rand, p *step) { p.Status = 200 },
	},
	"attempt_deadline": {
		make:   func(*step) error { return &smithy.CanceledError{Err: context.DeadlineExceeded} },
		differ: attemptDeadline,
	},
	"certificate": sending("tls_certificate", unsendable, &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
	"tls":         sending("", unsendable, tls.AlertError(40)),
	"bad_url":     sending("bad_url", unsendable, &net.AddrError{Err: "missing port in address", Addr: "x"}),
	"unreachable": sending("unreachable", unsendable, errno("dial", "connect", syscall.EHOSTUNREACH)),
	"files":       sending("too_many_files", unsendable, errno("dial", "socket", syscall.EMFILE)),
	"dns_failed":  sending("", unsendable, socket("dial", &net.DNSError{Err: "no answer"})),
	"unknown":     sending("", unsendable, errors.New("malformed HTTP response")),
}

// plainKinds are those that both sides answer in one way, oddKinds those that
// they do not.
var plainKinds, oddKinds = func() (plain, odd []string) {
	for _, name := range sortedKinds() {
		switch {
		case kinds[name].differ != "":
			odd = append(odd, name)
		case name == "answer":
			plain = append(plain, name, name, name, name, name, name, name, name)
		case name != "ok":
			plain = append(plain, name)
		}
	}
	return plain, odd
}()
