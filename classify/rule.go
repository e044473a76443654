package classify

import "strconv"

// Rule names the rule that decided a Verdict. Its value is also its strength:
// when several rules apply to one error, the largest wins, so the answer does
// not depend on the order in which they were found. The numbers may change
// between releases; the names do not. The zero value is RuleUnrecognized,
// which is not retryable.
type Rule uint8

// The rules, weakest first.
const (
	// Nothing to go by.
	RuleUnrecognized Rule = iota // no part of the error is known
	RuleSuccess                  // a nil error, or a 2xx without a code
	RuleFinalStatus              // a status outside the table
	RuleUnknownCode              // a code outside the tables, and no status that is in one

	// Failures of the way to the server, retried.
	RuleTimeout         // Timeout() says true, or a timed-out errno
	RuleAttemptDeadline // context.DeadlineExceeded
	RuleEOF             // io.EOF, io.ErrUnexpectedEOF
	RuleClosed          // net.ErrClosed, io.ErrClosedPipe, ENOTCONN, ESHUTDOWN
	RuleReset           // ECONNRESET, ECONNABORTED, ENETRESET, EPIPE
	RuleRefused         // ECONNREFUSED
	RuleDNSTemporary    // a DNSError that is temporary or a time-out
	RuleGoAway          // HTTP/2 GOAWAY
	RuleRefusedStream   // HTTP/2 RST_STREAM with REFUSED_STREAM

	// Failures of the way to the server, final.
	RuleStreamReset  // any other HTTP/2 stream or connection error
	RuleUnreachable  // EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH
	RuleDNSPermanent // any other DNSError
	RuleDNSNotFound  // NXDOMAIN; the only one of these that can be overridden
	RuleTLS          // alerts, records that are not TLS, a rejected ECH
	RuleCertificate  // a certificate that does not verify
	RuleBadRequest   // an address, network or URL that cannot be
	RuleLocalFault   // EMFILE, ENFILE, ENOBUFS, ENOMEM, no local port left

	// What the server answered.
	RuleClockSkew      // a signature refused over a wrong clock
	RuleServerStatus   // 500, 502, 503, 504
	RuleThrottleStatus // 429
	RuleStatusOverride // the caller's table of statuses
	RuleTransientCode  // the four codes of R3.2
	RuleThrottlingCode // the fourteen codes of R3.1
	RuleCodeOverride   // the caller's table of codes

	// What the error says of itself, and the caller's own will.
	RuleMarkedFinal     // RetryableError() says false
	RuleMarkedRetryable // RetryableError() says true
	RuleMarkedThrottled // RetryableError() says true, code or status say throttling
	RuleCancelled       // context.Canceled

	rules // how many there are
)

// Clause returns the clause of RETRY.md behind the rule, such as "R3.2", or ""
// for a value that is no rule. Wait-free, allocates nothing.
func (r Rule) Clause() string {
	if r >= rules {
		return ""
	}
	return ruleTable[r].clause
}

// String returns a short sentence that says what the rule saw. It allocates
// only for a value that is no rule.
func (r Rule) String() string {
	if r >= rules {
		return "Rule(" + strconv.Itoa(int(r)) + ")"
	}
	return ruleTable[r].text
}

// ruleTable is the one place that turns a rule into a class. The class of an
// override rule is the caller's; the table holds what fails safe.
var ruleTable = [rules]struct {
	class  Class
	clause string
	text   string
}{
	RuleUnrecognized: {NonRetryable, "R3.3", "no part of the error is recognised"},
	RuleSuccess:      {NonRetryable, "R3.3", "not a failure"},
	RuleFinalStatus:  {NonRetryable, "R3.3", "the status is not one that is retried"},
	RuleUnknownCode:  {NonRetryable, "R3.3", "neither the code nor the status is one that is retried"},

	RuleTimeout:         {Transient, "R3.2", "a time-out"},
	RuleAttemptDeadline: {Transient, "R3.6", "the attempt's own deadline passed"},
	RuleEOF:             {Transient, "R3.2", "the connection ended before the answer did"},
	RuleClosed:          {Transient, "R3.2", "the connection was closed"},
	RuleReset:           {Transient, "R3.2", "the connection was reset"},
	RuleRefused:         {Transient, "R3.2", "the connection was refused"},
	RuleDNSTemporary:    {Transient, "R3.2", "a temporary DNS failure"},
	RuleGoAway:          {Transient, "R3.2", "the server ended the HTTP/2 connection (GOAWAY)"},
	RuleRefusedStream:   {Transient, "R3.2", "the server refused the HTTP/2 stream (REFUSED_STREAM)"},

	RuleStreamReset:  {NonRetryable, "R3.3", "an HTTP/2 error other than GOAWAY and REFUSED_STREAM"},
	RuleUnreachable:  {NonRetryable, "R3.3", "the host or its network cannot be reached"},
	RuleDNSPermanent: {NonRetryable, "R3.3", "a DNS failure that is not temporary"},
	RuleDNSNotFound:  {NonRetryable, "R3.7", "the host name does not exist (NXDOMAIN)"},
	RuleTLS:          {NonRetryable, "R3.3", "TLS could not be agreed on"},
	RuleCertificate:  {NonRetryable, "R3.3", "the certificate does not verify"},
	RuleBadRequest:   {NonRetryable, "R3.3", "the URL or address cannot be used"},
	RuleLocalFault:   {NonRetryable, "R3.3", "this machine ran out of files, ports or memory"},

	RuleClockSkew:      {Transient, "R3.10", "the request was signed by a wrong clock"},
	RuleServerStatus:   {Transient, "R3.2", "status 500, 502, 503 or 504 without a recognised code"},
	RuleThrottleStatus: {Throttling, "R3.4", "status 429 without a recognised code"},
	RuleStatusOverride: {NonRetryable, "R3", "the status is in the override table"},
	RuleTransientCode:  {Transient, "R3.2", "the code is a transient one"},
	RuleThrottlingCode: {Throttling, "R3.1", "the code is a throttling one"},
	RuleCodeOverride:   {NonRetryable, "R3", "the code is in the override table"},

	RuleMarkedFinal:     {NonRetryable, "R3.5", "the error says that it is not retryable"},
	RuleMarkedRetryable: {Transient, "R3.5", "the error says that it is retryable"},
	RuleMarkedThrottled: {Throttling, "R3.5", "the error says that it is retryable, its code or status that it is throttling"},
	RuleCancelled:       {NonRetryable, "R3.6", "the caller cancelled"},
}
