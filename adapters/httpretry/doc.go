// Package httpretry is the retry engine as an [http.RoundTripper]: code that
// uses net/http gets retries by a change of its client's transport.
//
//	e, err := engine.New()
//	client := httpretry.Client(e)
//
// One engine serves one upstream (R6.2); transports that share an engine share
// its quota. Each attempt is classified, paid for and delayed by [engine.Call],
// so the same failure has the same class, cost, delay and reason here as in
// [engine.Do]. A gateway has many upstreams, each of which must pay for itself:
// [WithEngineByHost] gives each an engine of its own, [WithEngineFor] chooses by
// whatever else a request shows.
//
// # What comes back
//
// A response, whatever its status, if the last attempt got one and the caller
// still waits: a gateway can pass the server's own 503 through, its body whole.
// [ResultOf] says how many attempts there were and why there was no further
// one; the engine's Observer sees the same. An error if there is no response:
// the base's own, untouched, if the first attempt's was not retryable, else an
// [*engine.Error] that says why the call ended and holds the base's. Where a
// retry was granted and then not sent, because the caller's context ended in the
// delay, the failed response is gone by then; the *engine.Error holds a
// [*ResponseError] in its place. Where it was not sent because the limiter of
// adaptive mode would not let it go before the deadline, the response comes back,
// its body whole, with engine.ReasonDeadline.
//
// Two failures of a connection have no type in net/http and are known here by its
// words, which nobody else can write: "http: server closed idle connection" and
// "http2: client connection lost". They are transient (R3.2). [engine.Do] around an
// http.Client does not know them. Under [NoResend] there is a third, of a connection
// that the server had sent something unasked.
//
// A status from 100 to 399 is a success, unless the classifier's overrides say
// otherwise; redirects are for the http.Client above to follow. A number below
// 100 is no status, and its answer final (R3.3). 101 Switching Protocols comes
// back as it is, its connection to read from, write to and end on either side,
// and CONNECT is passed on without a look: neither is retried, whatever anybody
// says. Informational answers before the last, 103 Early Hints among them, go to
// the hooks of the caller's httptrace.ClientTrace as they come, those of attempts
// that then fail too. A body that waits for 100 Continue is read by the attempt
// that is told to go on, and by no other. Trailers and bodies without a length
// are sent again, and come back, as they are.
//
// # What is sent twice
//
// GET, HEAD, OPTIONS, TRACE, PUT and DELETE; requests with a header
// Idempotency-Key or X-Idempotency-Key (an empty list under that name counts,
// and is not sent); a failure that proves that the server never saw the request,
// whatever the method; with [WithAnyMethod], everything. What else fails ends as
// engine.ReasonNotReplayable with no tokens taken (R2.1).
//
// A body is sent again through the request's GetBody, which http.NewRequest sets
// for the usual readers. Any other body is kept while it is sent, up to
// [WithBodyLimit]; a longer one is sent whole, but once. Nothing is read before
// the base reads it, so a body that is still being produced streams as before.
//
// net/http's transport sends a request again by itself when a connection out of its
// pool turns out to be dead before anything of the request was written. It does so
// too when the connection ends before anything of an answer came, if the request is
// a GET, HEAD, OPTIONS or TRACE, or has an idempotency key. That is meant to mend its
// own guess that a connection kept alive still lives; it is no attempt, is not
// counted and costs no tokens. But the pool also holds connections that were dialled
// for a request which meanwhile got another, and that have carried nothing yet. So a
// server that is down, and hangs up on all who come, is sent more than was paid for,
// up to half of the load again (TestNoResendOnAnUnusedConnection shows how).
// [NoResend] ends that over HTTP/1. A server that is down and says so, with a 503, is
// sent nothing unpaid.
//
// Over HTTP/2 net/http also sends again, up to seven times and with growing pauses,
// what the server says that it has not processed (GOAWAY, REFUSED_STREAM). It takes a
// stream reset with PROTOCOL_ERROR for such a word too: that is the one way in which
// a request that is not idempotent may arrive twice. Only [WithAttemptTimeout] bounds
// all of that.
//
// # Hedges
//
// With [WithHedge], an attempt that has brought no headers for a while is joined by
// another, and the first that settles the call wins. A hedge is a retry that did
// not wait for the failure: it is an attempt, is paid for like one, and only what
// may be sent twice is hedged. The winner's context lives until its body has been
// read or closed; the loser's ends at once, its body is closed by whoever gets it,
// and RoundTrip waits for neither. Of two that fail, the answer that came last is
// the call's.
//
// # Layers that retry
//
// Retries under retries multiply. A Transport directly under a Transport is an
// error; one that is found elsewhere, in the same process or another, is told by a
// mark, in the context ([RetryMark]) or in a header ([RetryMarkHeader]): what is
// marked is sent once. [WithRetryMark] sets and honours both, and
// [RetryMarkHandler] takes the mark of an incoming request into its context. The
// uppermost layer that says so retries, since it alone sees every failure; what it
// would not send again, because it is not idempotent, it does not mark.
//
// # What is read of a failed response
//
// The error code, for R3.1 and R3.2: from the header x-amzn-errortype, else from
// the first 8 KiB of a body that is JSON ("__type", "code" or "Code" of the
// outermost object) or XML (Error/Code, ErrorResponse/Error/Code,
// Response/Errors/Error/Code), that has no Content-Encoding left, and whose
// status is 400 or above. That takes 1 s at the most, after which what has come
// until then counts; the body is handed on byte for byte, with the error it ends
// with. Of a response that is retried, up to 64 KiB more are read within another
// second, so that its connection is used again; then it is closed. That happens
// before the delay, in which no connection is held. In adaptive mode the response
// may yet be the call's, so what is read, and of a body of unknown length no more
// than another 8 KiB, is kept until the retry is sent; a body that is longer keeps
// its connection, too, for so long.
//
// The delay that a response asks for, from x-amz-retry-after and, with
// [WithStandardRetryAfter], Retry-After (R5).
//
// # Time
//
// The request's context bounds the call, delays included: a delay that would not
// end before its deadline is not begun, and the last response comes back at once
// (R3.6). http.Client's Timeout is such a deadline. [WithAttemptTimeout] bounds
// each attempt up to the headers of its response, all alike or the first ones more
// tightly. Nothing bounds the reading of the response that is returned, but the
// context.
//
// # Not promised
//
// A retry after the headers of a success have been returned: if its body is cut,
// the reader sees it. Callers who read the body inside [engine.Do] get that too.
// An answer that is cut within a line of its head is a malformed one to
// net/http, which says so in words alone; it is not retried (R3.8). Clock skew
// (R3.10): requests are signed above this package.
package httpretry
