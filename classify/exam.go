package classify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/url"
	"os"
	"reflect"
	"time"
)

// maxNodes bounds one walk. Real chains have fewer than twenty errors; a cycle
// or a chain without end costs this many steps, about ten microseconds
// (BenchmarkErrorCycle), and counts for what was seen until then.
const maxNodes = 1024

// An exam is one walk through an error and all that it wraps, in the order of
// errors.Is: an error before what it wraps, the first of several wrapped ones
// and all below it before the second. It gathers facts; decide turns them into
// a verdict. It lives on the stack of ExplainError.
type exam struct {
	c          *Classifier
	nodes      int           // still allowed
	retryAfter time.Duration // the first one above 0
	status     int           // the first one that is a failure
	code       decision      // by the first recognised code
	rule       Rule          // the strongest rule of the types met
	marked     Rule          // RuleMarkedRetryable or RuleMarkedFinal, by the first marker
	hasCode    bool          // there was a code, recognised or not
	proven     bool          // the walk came to an end that proves "never sent"
	unproven   bool          // it came to one that does not
	converting bool          // inside an answer of an As method
}

func (x *exam) found(r Rule) { x.rule = max(x.rule, r) }

// visit examines err and what it wraps. neverSent says that an error above err
// proves that nothing was sent. The types of the standard library come first:
// they answer nothing of what the trait table asks, so it need not be asked.
func (x *exam) visit(err error, neverSent bool) {
	for {
		if x.nodes == 0 {
			x.unproven = true
			return
		}
		x.nodes--
		var next error
		switch e := err.(type) {
		case *url.Error:
			if e != nil {
				if e.Op == "parse" {
					x.found(RuleBadRequest)
				}
				next = e.Err
			}
		case *net.OpError:
			if e != nil {
				neverSent = neverSent || opens(e.Op)
				next = e.Err
			}
		case *os.SyscallError:
			if e != nil {
				next = e.Err
			}
		case errno:
			x.found(errnoRule(e))
		case *net.DNSError:
			if e != nil {
				x.found(dnsRule(e))
				neverSent = true
				next = e.UnwrapErr
			}
		case *tls.CertificateVerificationError:
			if e != nil {
				// Certificates are verified in a connection's first
				// handshake only, before anything is sent.
				x.found(RuleCertificate)
				neverSent = true
				next = e.Err
			}
		case x509.UnknownAuthorityError, x509.HostnameError, x509.CertificateInvalidError,
			x509.ConstraintViolationError, x509.InsecureAlgorithmError,
			x509.UnhandledCriticalExtension, x509.SystemRootsError:
			x.found(RuleCertificate)
		case tls.RecordHeaderError, tls.AlertError, *tls.ECHRejectionError:
			x.found(RuleTLS)
		case *net.AddrError, *net.ParseError, net.UnknownNetworkError, net.InvalidAddrError,
			url.EscapeError, url.InvalidHostError:
			x.found(RuleBadRequest)
		default:
			var ended bool
			if next, neverSent, ended = x.visitOther(err, neverSent); ended {
				return
			}
		}
		if next == nil {
			x.proven = x.proven || neverSent
			x.unproven = x.unproven || !neverSent
			return
		}
		err = next
	}
}

// visitOther examines an error whose type visit does not name. It returns the
// one error that err wraps, if there is one; ended says that it wrapped several
// and that all of them have been visited.
//
//lint:ignore ST1008 next is the error to visit, not a failure of the visit
func (x *exam) visitOther(err error, neverSent bool) (next error, proof bool, ended bool) {
	t := traitsOf(err)
	if t&(mayBeSentinel|kindMask) != 0 {
		if t&mayBeSentinel != 0 {
			x.found(sentinelRule(err))
			return nil, neverSent, false
		}
		r, proves := kindRule(t&kindMask, err)
		x.found(r)
		return nil, neverSent || proves, false
	}
	if t&(saysAnything|leadsElsewhere) == 0 || t&mayBeNil != 0 && reflect.ValueOf(err).IsNil() {
		return nil, neverSent, false
	}
	if t&saysCode != 0 && x.code.rule == 0 {
		x.readCode(err.(errorCoder).ErrorCode())
	}
	if t&saysStatus != 0 && x.status == 0 {
		// A 2xx beside an error means that the error came later. Who answered was
		// sent to, whatever the error below says of a connection.
		status := err.(statusCoder).HTTPStatusCode()
		x.unproven = x.unproven || status > 0
		if status >= 300 || x.c.overrides(status) {
			x.status = status
		}
	}
	if t&(saysRetryable|saysTimeout|saysRetryAfter) != 0 {
		x.ask(err, t)
	}
	if t&hasIs != 0 {
		x.found(equalRule(err.(equaler)))
	}
	if t&hasAs != 0 {
		ended = x.convert(err.(converter), neverSent)
	}
	switch {
	case t&hasUnwrap != 0:
		next = err.(unwrapper).Unwrap()
		ended = ended && next == nil
	case t&hasMultiUnwrap != 0:
		for _, e := range err.(multiUnwrapper).Unwrap() {
			if e != nil {
				x.visit(e, neverSent)
				ended = true
			}
		}
	}
	return next, neverSent, ended
}

// readCode takes the first code that a table knows.
func (x *exam) readCode(code string) {
	if code != "" {
		var known bool
		x.code, known = x.c.codeDecision(code)
		x.hasCode = x.hasCode || known
	}
}

// ask records what err says of itself beside code and status.
func (x *exam) ask(err error, t traits) {
	if t&saysRetryable != 0 && x.marked == 0 {
		x.marked = RuleMarkedFinal
		if err.(retryableError).RetryableError() {
			x.marked = RuleMarkedRetryable
		}
	}
	if t&saysTimeout != 0 && err.(timeouter).Timeout() {
		x.found(RuleTimeout)
	}
	if t&saysRetryAfter != 0 && x.retryAfter == 0 {
		x.retryAfter = max(0, err.(retryAfterer).RetryAfter())
	}
}

// decide turns the facts into a verdict: the strongest rule wins (R3.5, R3.6).
func (x *exam) decide() Verdict {
	d := x.code
	if d.rule == RuleUnrecognized { // else answer would ask no further
		d = x.c.answer(d, x.hasCode, x.status)
	}
	if x.rule > d.rule {
		d = x.rule.decision()
		if x.rule == RuleDNSNotFound {
			d.class = x.c.nxDomainClass()
		}
	}
	if x.marked > d.rule {
		if x.marked == RuleMarkedRetryable && d.class == Throttling {
			x.marked = RuleMarkedThrottled // a marker says whether, not how slowly
		}
		d = x.marked.decision()
	}
	return Verdict{
		RetryAfter: x.retryAfter,
		Class:      d.class,
		Rule:       d.rule,
		NeverSent:  x.proven && !x.unproven && !x.hasCode && x.status == 0,
	}
}

// opens reports whether a net.OpError with this Op is about the making of a
// connection. The words are constants of net and net/http.
func opens(op string) bool {
	return op == "dial" || op == "proxyconnect" || op == "socks connect"
}

// dnsRule implements R3.2 and R3.7. A name that does not exist is final even
// where the resolver adds that the answer is temporary.
func dnsRule(e *net.DNSError) Rule {
	switch {
	case e.IsNotFound:
		return RuleDNSNotFound
	case e.IsTimeout, e.IsTemporary:
		return RuleDNSTemporary
	}
	return RuleDNSPermanent
}

// Where the sentinels lie that share the type of errors.New: the walk compares
// addresses, for a comparison of interfaces calls the runtime.
var (
	eofAddr           = sentinelAddr(io.EOF)
	unexpectedEOFAddr = sentinelAddr(io.ErrUnexpectedEOF)
	closedPipeAddr    = sentinelAddr(io.ErrClosedPipe)
	cancelledAddr     = sentinelAddr(context.Canceled)
)

// sentinelAddr is 0, which no error has, for one that has another type.
func sentinelAddr(err error) uintptr {
	if reflect.TypeOf(err) != sentinelType {
		return 0
	}
	return reflect.ValueOf(err).Pointer()
}

// sentinelRule tells the sentinels from each other and from all other errors of
// their type.
func sentinelRule(err error) Rule {
	switch reflect.ValueOf(err).Pointer() {
	case eofAddr, unexpectedEOFAddr:
		return RuleEOF
	case cancelledAddr:
		return RuleCancelled
	case closedPipeAddr:
		return RuleClosed
	}
	return RuleUnrecognized
}

// refusedStream is the HTTP/2 error code REFUSED_STREAM (RFC 9113, section 7):
// the server promises that it did nothing with the request (section 8.7).
const refusedStream = 0x7

// kindRule returns the rule of a kind and whether it proves that the request
// never reached the server. GOAWAY does not: it names the last stream that was
// looked at, but not which stream this error is about.
func kindRule(kind traits, err error) (r Rule, neverSent bool) {
	switch kind {
	case kindDeadline:
		return RuleAttemptDeadline, false
	case kindCancelled:
		return RuleCancelled, false
	case kindIOTimeout:
		return RuleTimeout, false
	case kindNetClosed:
		return RuleClosed, false
	case kindGoAway:
		return RuleGoAway, false
	case kindStreamError:
		if streamCode(err) == refusedStream {
			return RuleRefusedStream, true
		}
		return RuleStreamReset, false
	case kindConnectionError:
		return RuleStreamReset, false
	case kindTLSAlert:
		return RuleTLS, false
	case kindTLSHandshakeTimeout:
		return RuleTimeout, true
	}
	return RuleUnrecognized, false
}

// equalRule asks an error's own Is method, which is how net's and net/http's
// errors say that they are the context's.
func equalRule(err equaler) Rule {
	switch {
	case err.Is(context.Canceled):
		return RuleCancelled
	case err.Is(context.DeadlineExceeded):
		return RuleAttemptDeadline
	case err.Is(os.ErrDeadlineExceeded):
		return RuleTimeout
	case err.Is(net.ErrClosed):
		return RuleClosed
	case err.Is(io.ErrUnexpectedEOF), err.Is(io.EOF):
		return RuleEOF
	}
	return RuleUnrecognized
}
