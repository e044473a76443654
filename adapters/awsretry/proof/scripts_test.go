package proof_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/reprise-go/reprise/adapters/awsretry/proof/faulty"
)

// script is what the service does to one call.
type script struct {
	name   string
	faults []faulty.Fault
	dial   error                                              // of the first connection, which there is none of then
	tokens int                                                // in the quota at the start; 0 is all 500
	under  func(context.Context) (context.Context, func())    // the call's context; nil is one without end
	call   func(context.Context, *world, clientOptions) error // nil gets the item
}

var (
	throttle = faulty.Code(400, "ProvisionedThroughputExceededException")
	internal = faulty.Code(500, "InternalServerError")
	skewed   = faulty.Code(400, "InvalidSignatureException")
)

func times(n int, fault faulty.Fault) []faulty.Fault { return slices.Repeat([]faulty.Fault{fault}, n) }

func within(d time.Duration) func(context.Context) (context.Context, func()) {
	return func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithTimeout(ctx, d)
		return ctx, cancel
	}
}

func cancelledAfter(d time.Duration) func(context.Context) (context.Context, func()) {
	return func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancel(ctx)
		timer := time.AfterFunc(d, cancel)
		return ctx, func() { timer.Stop(); cancel() }
	}
}

// scripts is the table. A name says what is done; whoever reads a difference finds
// it here.
var scripts = []script{
	{name: "no fault"},

	// Throttling (R3.1): base 1 s, 5 tokens.
	{name: "throttled once", faults: times(1, throttle)},
	{name: "throttled for good", faults: times(9, throttle)},
	{name: "ThrottlingException", faults: times(1, faulty.Code(400, "ThrottlingException"))},
	{name: "RequestLimitExceeded", faults: times(1, faulty.Code(400, "RequestLimitExceeded"))},
	{name: "LimitExceededException", faults: times(1, faulty.Code(400, "LimitExceededException"))},
	{name: "SlowDown as a 503", faults: times(1, faulty.Code(503, "SlowDown"))},
	{name: "TransactionInProgressException", faults: times(1, faulty.Code(400, "TransactionInProgressException"))},
	{name: "429 without a code", faults: times(1, faulty.HTML(429))},
	{name: "429 with an unknown code", faults: times(1, faulty.Code(429, "SomethingElse"))},
	{name: "429 with a modelled code", faults: times(1, faulty.Code(429, "ResourceNotFoundException"))},
	{name: "429 with a modelled throttling code", faults: times(1, faulty.Code(429, "ProvisionedThroughputExceededException"))},

	// Transient (R3.2): base 25 ms, 14 tokens.
	{name: "internal error once", faults: times(1, internal)},
	{name: "internal error for good", faults: times(9, internal)},
	{name: "500 without a code", faults: times(1, faulty.Text(500, "", ""))},
	{name: "502 page", faults: times(1, faulty.HTML(502))},
	{name: "503 page", faults: times(1, faulty.HTML(503))},
	{name: "503 page for good", faults: times(9, faulty.HTML(503))},
	{name: "504 page", faults: times(1, faulty.HTML(504))},
	{name: "RequestTimeout", faults: times(1, faulty.Code(400, "RequestTimeout"))},
	{name: "InternalError as a 400", faults: times(1, faulty.Code(400, "InternalError"))},
	{name: "IDPCommunicationError as a 400", faults: times(1, faulty.Code(400, "IDPCommunicationError"))},
	{name: "reset once", faults: times(1, faulty.Reset)},
	{name: "reset for good", faults: times(9, faulty.Reset)},
	{name: "half a body once", faults: times(1, faulty.Half)},
	{name: "half a body for good", faults: times(9, faulty.Half)},
	{name: "a short body once", faults: times(1, faulty.Short)},
	{name: "a short body for good", faults: times(9, faulty.Short)},
	{name: "wrong checksum", faults: times(1, faulty.Header("X-Amz-Crc32", "1", faulty.Pass))},
	{name: "wrong checksum for good", faults: times(9, faulty.Header("X-Amz-Crc32", "1", faulty.Pass))},
	{name: "a page for an answer", faults: times(1, faulty.HTML(200))},

	// The exponent is the overall index, the base that of the latest error (R4.1).
	{name: "internal, throttled, internal", faults: []faulty.Fault{internal, throttle, internal}},
	{name: "throttled, reset, page", faults: []faulty.Fault{throttle, faulty.Reset, faulty.HTML(503)}},

	// Final (R3.3).
	{name: "ValidationException", faults: times(1, faulty.Code(400, "ValidationException"))},
	{name: "501", faults: times(1, faulty.HTML(501))},
	{name: "505", faults: times(1, faulty.HTML(505))},
	{name: "404", faults: times(1, faulty.HTML(404))},
	{name: "throttled, then not found", faults: []faulty.Fault{throttle, faulty.Code(400, "ResourceNotFoundException")}},
	{name: "conflict of transactions", faults: times(1, faulty.Code(400, "TransactionConflictException"))},
	{name: "cancelled transaction", faults: times(1, faulty.CodeWith(400, "TransactionCanceledException", map[string]any{
		"CancellationReasons": []map[string]any{{"Code": "None"}, {"Code": "TransactionConflict"}}}))},

	// x-amz-retry-after (R5).
	{name: "retry-after between", faults: times(1, retryAfter("2500", throttle))},
	{name: "retry-after too small", faults: times(1, retryAfter("1", throttle))},
	{name: "retry-after zero", faults: times(1, retryAfter("0", internal))},
	{name: "retry-after too large", faults: times(1, retryAfter("60000", internal))},
	{name: "retry-after larger than an integer", faults: times(1, retryAfter("99999999999999999999", internal))},
	{name: "retry-after larger than a duration", faults: times(1, retryAfter("9223372036854775807", internal))},
	{name: "retry-after negative", faults: times(1, retryAfter("-5", internal))},
	{name: "retry-after decimal", faults: times(1, retryAfter("1500.5", internal))},
	{name: "retry-after text", faults: times(1, retryAfter("soon", internal))},
	{name: "retry-after with blanks", faults: times(1, retryAfter(" 3000 ", internal))},
	{name: "retry-after with a sign", faults: times(1, retryAfter("+3000", internal))},
	{name: "retry-after on a final error", faults: times(1, retryAfter("3000", faulty.Code(400, "ValidationException")))},

	// Clock skew (R3.10).
	{name: "skew of ten minutes", faults: times(1, faulty.Skewed(10*time.Minute, skewed))},
	{name: "skew of minus ten minutes", faults: times(1, faulty.Skewed(-10*time.Minute, skewed))},
	{name: "skew of three minutes", faults: times(1, faulty.Skewed(3*time.Minute, skewed))},
	{name: "skew without a code for it", faults: times(1, faulty.Skewed(10*time.Minute, faulty.Code(400, "ValidationException")))},
	{name: "skew behind a cache", faults: times(1, faulty.Header("Age", "5", faulty.Skewed(10*time.Minute, skewed)))},
	{name: "skew that is denied", faults: times(1, faulty.Skewed(time.Hour, faulty.Code(403, "AccessDeniedException")))},
	{name: "skew for good", faults: []faulty.Fault{faulty.Skewed(10*time.Minute, skewed), faulty.Skewed(20*time.Minute, skewed),
		faulty.Skewed(30*time.Minute, skewed), faulty.Skewed(40*time.Minute, skewed)}},
	{name: "no skew, denied", faults: times(1, faulty.Code(403, "AccessDeniedException"))},
	{name: "skew seen in a throttle", faults: []faulty.Fault{faulty.Skewed(10*time.Minute, throttle), faulty.Skewed(10*time.Minute, faulty.Pass)}},

	{name: "skew, then no date", faults: []faulty.Fault{faulty.Skewed(10*time.Minute, throttle), faulty.Undated(throttle)}},

	// What the network says before there is a connection.
	{name: "refused", dial: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}},
	{name: "no route", dial: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}},
	{name: "timed out", dial: &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}},
	{name: "no such host", dial: &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "dynamodb.test", IsNotFound: true}}},
	{name: "name server silent", dial: &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "timeout", Name: "dynamodb.test", IsTimeout: true, IsTemporary: true}}},
	{name: "unknown authority", dial: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}},

	// The quota (R6).
	{name: "quota too low for a transient retry", faults: times(1, internal), tokens: 13},
	{name: "quota enough for a throttling retry", faults: times(1, throttle), tokens: 5},
	{name: "quota too low at the second retry", faults: times(9, throttle), tokens: 9},
	{name: "quota grows by a first success", tokens: 100},
	{name: "quota gets back what the last retry took", faults: []faulty.Fault{internal, throttle}, tokens: 100},
	{name: "quota too low, attempts used up", faults: times(9, throttle), tokens: 15},

	// The caller.
	{name: "deadline in the delay", faults: times(1, throttle), under: within(100 * time.Millisecond)},
	{name: "deadline after the retry", faults: times(1, internal), under: within(100 * time.Millisecond)},
	{name: "deadline in an attempt", faults: times(1, faulty.After(time.Minute, faulty.Pass)), under: within(100 * time.Millisecond)},
	{name: "deadline in a retry", faults: []faulty.Fault{internal, faulty.After(time.Minute, faulty.Pass)}, under: within(100 * time.Millisecond)},
	{name: "cancelled in the delay", faults: times(1, throttle), under: cancelledAfter(100 * time.Millisecond)},
	{name: "cancelled in an attempt", faults: times(1, faulty.After(time.Minute, faulty.Pass)), under: cancelledAfter(100 * time.Millisecond)},
	{name: "cancelled in a retry", faults: []faulty.Fault{internal, faulty.After(time.Minute, faulty.Pass)}, under: cancelledAfter(100 * time.Millisecond)},
	{name: "cancelled before", under: func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx, func() {}
	}},

	// Other operations.
	{name: "a write throttled", faults: times(1, throttle), call: putItem},
	{name: "attempts of one call", faults: times(9, throttle), call: getItemTwice},
	{name: "poll refused by the quota", faults: times(1, internal), tokens: 3, call: receiveMessage},
	{name: "poll refused, retry-after", faults: times(1, retryAfter("3000", internal)), tokens: 3, call: receiveMessage},
	{name: "poll refused, cancelled in the wait", faults: times(1, throttle), tokens: 3, call: receiveMessage, under: cancelledAfter(100 * time.Millisecond)},
	{name: "poll refused, deadline in the wait", faults: times(1, throttle), tokens: 3, call: receiveMessage, under: within(100 * time.Millisecond)},
	{name: "poll for good", faults: times(9, internal), call: receiveMessage},
	{name: "poll granted", faults: append(times(1, internal), faulty.Text(200, "application/x-amz-json-1.0", "{}")), call: receiveMessage},
	{name: "no poll refused by the quota", faults: times(1, internal), tokens: 3, call: sendMessage},
}

func retryAfter(value string, fault faulty.Fault) faulty.Fault {
	return faulty.Header("X-Amz-Retry-After", value, fault)
}
