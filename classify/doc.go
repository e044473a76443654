// Package classify decides what a failure means for a retry: transient,
// throttling, or not retryable (R3 of RETRY.md). It knows errors, error codes
// and HTTP statuses; it does not wait, count, read a clock, or import net/http.
//
// # Problem
//
// The failure of one attempt arrives as a chain of errors that several packages
// wrapped, or as a status and a code. A wrong class costs either way: retry what
// is final and a caller waits for nothing and a loaded server is asked again;
// give up on what is transient and a blip becomes an outage. And the answer is
// needed on each failure, so it has to be cheap: one walk, no allocation, no
// message ever built.
//
// # How it is decided
//
// [Classifier.ExplainError] walks the chain once, in the order of errors.Is, and
// gathers facts: the rules of the types it meets, the first recognised code, the
// first failing status, the first marker, the first delay. Each fact belongs to
// a [Rule]; rules are ordered by strength, the strongest that was met decides,
// and one table turns it into a [Class]. [Classifier.Error] is the same walk
// with the reasons dropped. So the class of a chain does not depend on how its
// errors are wrapped, and an explanation cannot differ from the answer.
//
// From the strongest to the weakest:
//
//	cancelled          R3.6   context.Canceled, also by an Is method
//	marker             R3.5   RetryableError(); the outermost counts
//	code               R3.1   14 throttling codes, R3.2 4 transient ones; overridable
//	status             R3.2   500 502 503 504, R3.4 429; overridable
//	clock skew         R3.10  for a caller that keeps a skew: ExplainSkewed
//	final failure      R3.3   this machine's own faults, certificates and TLS, DNS, a host or
//	                          network that cannot be reached, an impossible URL or address,
//	                          other HTTP/2 resets; NXDOMAIN R3.7, overridable
//	transient one      R3.2   refused, reset, closed, EOF, time-outs, temporary DNS, GOAWAY,
//	                          REFUSED_STREAM; R3.6 the attempt's own deadline
//	all the rest       R3.3   not retryable
//
// A code is recognised if it is in R3.1, R3.2 or the override table, whatever
// decoration it comes with (R3.9). Any other falls to the status, and without a
// telling status to the transport: a domain error with a code of its own that
// wraps a reset is a reset. A 2xx beside an error means that the error came
// later, in the body, so it tells nothing.
//
// # Invariants
//
//   - The class depends on types, codes, statuses and error numbers, never on
//     the text of a message (R3.8). No Error method is called.
//   - Wrapping changes nothing: %w, errors.Join, an Unwrap method of either
//     form, one or many times. Of several errors joined together the strongest
//     rule decides, so their order matters only among codes, statuses, markers
//     and delays, where the first counts.
//   - A walk visits at most 1024 errors, so cycles and endless chains end, after
//     about ten microseconds; what was met until then counts.
//   - A nil pointer inside an error interface is an unknown error; its methods
//     are not called.
//   - Nothing is allocated, whatever the error, unless its own methods allocate.
//     What a concrete type can say is found out once and kept in a fixed table.
//   - The zero value of Class, Rule, Verdict, Overrides and Classifier fails
//     safe: not retryable, or the rules of R3 as they are.
//
// # Where R3 leaves a choice
//
//   - io.EOF is transient wherever it stands: net/http returns it in a
//     *url.Error from a Client and bare from a RoundTripper when a connection
//     ends before its answer. An operation for which it is a normal end should
//     not return it, or mark it.
//   - EHOSTDOWN, EHOSTUNREACH, ENETDOWN and ENETUNREACH are final: R3.2 does not
//     list them, and a machine without a route to the server rarely finds one
//     within a few hundred milliseconds.
//   - EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL and EADDRINUSE are this
//     machine's faults, not the server's, and a retry makes them worse: final,
//     inside a dial too.
//   - Of HTTP/2, GOAWAY with any code and REFUSED_STREAM are transient; other
//     resets, INTERNAL_ERROR and ENHANCE_YOUR_CALM among them, are not in R3.2.
//   - A TLS handshake that times out is transient; any other TLS failure, alerts
//     included, is final.
//   - A DNS failure that is neither temporary, nor a time-out, nor NXDOMAIN is final.
//   - context.DeadlineExceeded is taken for the attempt's own deadline. Whether
//     the caller's has passed is for the caller to ask of its context first, as
//     package engine does. context.Canceled is final even if a marker says otherwise.
//   - A marker says whether, not how slowly: a retryable one over a throttling
//     code or status is throttling.
//   - Temporary() is not asked: EMFILE says true. An Is method is asked for the
//     sentinels above; an As method for *net.OpError, *net.DNSError, the system's
//     error number and the interfaces of the next section.
//
// # What an error may say
//
// An error of the chain may have any of these methods; none needs this package.
//
//	RetryableError() bool        R3.5
//	ErrorCode() string           R3.1, R3.2; "" is no code
//	HTTPStatusCode() int         R3.2, R3.4; 0 is no status
//	Timeout() bool               true is transient; false says nothing
//	RetryAfter() time.Duration   passed on in Verdict.RetryAfter
//
// # Where aws-sdk-go-v2 differs
//
//	                             aws-sdk-go-v2                here
//	a request that could not be  transient, whatever the      by what failed: certificates,
//	sent                         reason                       bad URLs, EMFILE are final
//	"connection reset" in a      transient                    means nothing (R3.8)
//	message
//	body cut short after a 200   final                        transient
//	which comes first            connection, status, code     code, status, transport
//	several codes in a chain     the outermost                the first recognised one
//	NXDOMAIN                     final                        final, overridable
//
// # HTTP/2 without net/http
//
// The HTTP/2 errors of net/http are not exported, and naming those of
// golang.org/x/net/http2 would import it. They are told by the name and the
// package path of their type, which no server chooses; this happens once a type.
//
// # What is not promised
//
//   - Failures that exist as text only are not recognised, among them net/http's
//     "server closed idle connection", which it resends itself where it may, and
//     "malformed MIME header" for a head cut in mid-line (R3.8).
//   - [Verdict.NeverSent] is true only if all errors of the chain that wrap
//     nothing stand below one that proves it: a dial, a DNS lookup, a proxy's
//     connect, a certificate or handshake failure, REFUSED_STREAM. False means
//     unknown.
//   - A panic of an error's own method is not caught.
//   - The numbers of [Rule] and the sentences of its String method may change.
//   - On systems other than Unix and Windows no error numbers are known.
package classify
