package differential_test

// difference is one thing in which the engine does otherwise than the SDK, on
// purpose.
type difference struct{ name, why string }

const (
	internalError   = "InternalError and IDPCommunicationError"
	decoratedCode   = "decorated codes"
	messageText     = "message substrings"
	shortBody       = "bodies cut short"
	attemptDeadline = "an attempt's own deadline"
	unsendable      = "requests that cannot be sent"
	unsentRefund    = "refund of unsent retries"
	deadlineFirst   = "no sleep to the deadline"
	pollDeadline    = "no long-poll wait to the deadline"
	callerFirst     = "the caller's end comes first"
	unheard         = "the limiter hears responses only"
	hintOverflow    = "header overflow"
	hintSigned      = "header with a sign"
	markedThrottle  = "a throttle that is marked final"
	codeFirst       = "a transient code with status 429"
	smallCapacity   = "a capacity below a cost"
	negative        = "negative attempts"
)

// differences are all of them. The runs fail at any other, and at one of these
// that does not occur.
var differences = []difference{
	{internalError, "R3.2 lists them as transient whatever the status; the SDK goes by the status"},
	{decoratedCode, "R3.9: a code is normalised where it is looked up; the SDK's protocols do it where it is read, its retryer does not"},
	{messageText, "R3.8: a message is a server's or a user's to write; the SDK retries \"connection reset\" and \"use of closed network connection\" wherever they stand"},
	{shortBody, "R3.2 says that an unexpected EOF is transient; the SDK takes what came after a 200 for final"},
	{attemptDeadline, "R3.6: a time-out of the attempt with a live caller is transient; the SDK takes each CanceledError for the caller's"},
	{unsendable, "R3.3: certificates, TLS, addresses, routes, this machine's faults and the unknown are final; the SDK retries whatever it could not send but NXDOMAIN"},
	{unsentRefund, "R6.3: a retry that was granted and not sent gives its tokens back; the SDK's are lost"},
	{deadlineFirst, "ours: a delay that does not end before the deadline ends the call at once, with its tokens; the SDK sleeps up to the deadline"},
	{pollDeadline, "ours: so does a long poll's wait (R7)"},
	{callerFirst, "R3.6: with the caller gone the call is cancelled; the SDK says max attempts where they are used up too"},
	{unheard, "R8.3: a cancelled attempt and a fault of this machine are no responses; the SDK updates its limiter for them"},
	{hintOverflow, "R5.2: too large is t + 5 s; the SDK ignores what is beyond 64 bits and lets what is beyond a time.Duration wrap to anything"},
	{hintSigned, "R5.1: an integer has no plus sign here; strconv.ParseInt takes it"},
	{markedThrottle, "R3.5: an error's word wins over its code, and the limiter goes by the class; the SDK's limiter goes by the code and cuts its rate"},
	{codeFirst, "R3: the code comes first, so it is transient; the SDK takes each 429 that is not modelled for a throttle"},
	{smallCapacity, "R1.3: a quota that could never pay for a retry is an error of New; the SDK makes one that refuses all"},
	{negative, "R1.3: zero and negative attempts are an error of New; the SDK takes its default for them"},
}

// retriedByUs says in which direction a kind's difference goes.
var retriedByUs = map[string]bool{internalError: true, decoratedCode: true, shortBody: true, attemptDeadline: true}
