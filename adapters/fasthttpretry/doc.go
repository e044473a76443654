// Package fasthttpretry is the retry engine as a client of
// github.com/valyala/fasthttp, and as a handler that forwards through one.
//
//	e, err := engine.New()
//	client, err := fasthttpretry.New(e, &fasthttp.Client{MaxIdemponentCallAttempts: 1})
//	err = client.Do(req, resp)
//
// One engine serves one client (R6.2); clients that share an engine share its
// quota, and [WithEngineFor] gives each request an engine of its own. Each attempt
// is classified, paid for and delayed by [engine.Call], so the same failure has the
// same class, cost, delay and reason here as in [engine.Do] and behind net/http: a
// table of faults on the wire holds all doors to that.
//
// # What is beneath
//
// A Client, HostClient, PipelineClient or LBClient, or what wraps one. fasthttp
// sends a GET, HEAD, PUT or QUERY up to five times by itself when a connection
// fails, which no quota pays for and no count shows; under an engine that would be
// fifteen times. So [New] refuses a Client or HostClient whose
// MaxIdemponentCallAttempts is not 1, also inside an LBClient, rather than change
// a client that may be in use: of its host clients some would keep the old number.
// With 1, RetryIf, RetryIfErr and RetryIfErrUpstream are never asked. What cannot
// be seen is for the caller to mind: a ConfigureClient that sets another number, a
// client that is added to an LBClient later, a wrapper around one that retries.
//
// A connection that the server closed while it was idle is found out by an
// attempt, which fails; that attempt counts and costs, other than behind net/http,
// whose transport knows that it kept the connection and mends that by itself. One
// such connection is seldom alone: a server that restarts ends them all. So when an
// attempt's connection has ended or was reset before the beginning of an answer,
// the idle connections of the client beneath are closed (of an LBClient, those of
// the clients that it was made with), and what is sent after that goes out on new
// ones. fasthttp cannot be told which host's to close, so this happens once a
// second at the most in all of a [Client]. What remains: connections that die
// within a second of such a closing still cost an attempt each; and a POST on a
// dead connection is not sent again, for fasthttp does not say whether the
// connection was new, so that the failure proves nothing about what the server saw.
// MaxIdleConnDuration below the server's keep-alive time avoids both.
//
// An LBClient chooses an upstream for each attempt, and bounds it by its own
// Timeout, 1 s unless set. To balance over engines
// instead, give an LBClient Clients of this package, and do not put it into New.
// A HostClient with several addresses tries them all to make one connection; that
// is one attempt.
//
// A PipelineClient without a deadline waits for as long as its server cannot be
// reached, and a failed dial never shows: use [WithAttemptTimeout]. With a
// deadline it takes a request's body away and may still send a copy of it when its
// time is up; the body is given back for the next attempt and afterwards.
//
// # What comes back
//
// The last answer, whatever its status, and no error, if the last attempt got one
// and the caller still waits: fasthttp's own convention. [Client.DoContext] says
// how many attempts there were and why there was no further one; the engine's
// Observer sees the same. An error if there is no answer: the client's own,
// untouched, if the first attempt's was not retryable, else an [*engine.Error]
// around it, so compare with errors.Is(err, fasthttp.ErrTimeout) and not with ==.
// Where a retry was granted and then not sent because the caller's time was up,
// the error holds a [*ResponseError], and the response still is that answer. Where
// the limiter of adaptive mode would not let it go in time there is no error: the
// answer is the call's, with engine.ReasonDeadline.
//
// A status from 100 to 399 is a success, unless the classifier's overrides say
// otherwise. CONNECT is passed on without a look.
//
// # What is sent twice
//
// GET, HEAD, OPTIONS, TRACE, PUT and DELETE; requests with a header
// Idempotency-Key or X-Idempotency-Key; a failure that proves that the server
// never saw the request (a dial or TLS handshake that failed), whatever the
// method; with [WithAnyMethod], everything. What else fails ends as
// engine.ReasonNotReplayable with no tokens taken (R2.1).
//
// A body that is in memory is sent again as it is. A body stream is sent once, for
// fasthttp reads and closes it, unless the connection could not be made.
//
// Each attempt sends the same request. What the call changes for that, its
// time-out, KeepBodyBuffer and the headers of [WithAWSHeaders], it changes back;
// what fasthttp fills in, such as User-Agent and Host, stays as after any call. The
// response is reset before each attempt, but for SkipBody, StreamBody and the
// default content type.
//
// # What errors mean
//
// classify decides, and what it cannot know is known here:
//
//	ErrConnectionClosed                    transient: no answer, or the connection was reset before it
//	ErrTimeout                             transient, unless the caller's time is up too
//	ErrDialTimeout, ErrTLSHandshakeTimeout transient, and nothing was sent
//	a pipelined connection that stopped    transient
//	ErrNoFreeConns, ErrPipelineOverflow,   final: this client's own limits; a retry makes them worse.
//	ErrNoAvailableClients                  MaxConnWaitTimeout waits for a connection. Nothing
//	                                       was asked of the server, so adaptive mode does
//	                                       not count them (R8.3)
//	ErrBodyTooLarge, ErrSmallBuffer,       final: the same again would come back
//	ErrBrokenChunk, what is no HTTP
//
// An error of a wrapped client that says RetryableError() bool is taken at its
// word (R3.5).
//
// # What is read of a failed answer
//
// The error code, for R3.1 and R3.2: from the header x-amzn-errortype, else from
// the first 8 KiB of a body that is JSON or XML, as package httpretry reads it. Of
// a streamed answer (StreamBody, StreamResponseBody) only a body whose length is
// known and not above 8 KiB is read, and can then be read again. The delay that
// the answer asks for, from x-amz-retry-after and, with [WithStandardRetryAfter],
// Retry-After (R5). A streamed answer is closed before the delay; in adaptive mode,
// where it may yet be the call's, when the retry is sent, and keeps its connection
// until then.
//
// # Time
//
// fasthttp has no contexts, so there are three ways to bound a call, delays
// included: DoTimeout or DoDeadline, a time-out of the request's own, and the
// deadline of [Client.DoContext]. What is left of it bounds each attempt, and a
// delay that would not end before it is not begun (R3.6). [WithAttemptTimeout]
// bounds each attempt besides. A cancellation ends a wait at once, and an attempt
// not at all. Where the client has a Dial function, fasthttp does not bound the
// dial: use DialTimeout.
//
// # Not promised
//
// A retry after a streamed answer has been returned. Trailers of a request whose
// body [NewProxy] streams. Clock skew (R3.10): requests are signed above this
// package.
package fasthttpretry
