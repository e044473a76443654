// Package grpcretry is the retry engine as interceptors of a gRPC client, dialled
// with grpc.WithDisableRetry, or gRPC's own retries and these would multiply.
//
//	e, err := engine.New()
//	retries, err := grpcretry.New(e, grpcretry.WithIdempotent("/shop.Catalogue/*"))
//	conn, err := grpc.NewClient(target, append(retries.DialOptions(), creds)...)
//
// [Interceptor.DialOptions] has WithDisableRetry with it. A service config, which
// may come from DNS, can have a retryPolicy of up to five attempts; under three of
// the engine's that is fifteen, for which no quota pays. What WithDisableRetry
// leaves on are gRPC's transparent retries, of attempts that the server says it
// has not processed (GOAWAY, REFUSED_STREAM), once for each attempt, or that never
// left this machine. They can do no harm but send, and cost no tokens.
//
// One engine serves one server (R6.2); connections that share an Interceptor, or
// an engine, share its quota. [WithEngineByTarget], [WithEngineByMethod] and
// [WithEngineFor] give parts an engine of their own. Each attempt is classified,
// paid for and delayed by [engine.Call], so the same failure has the same class,
// cost, delay and reason here as in [engine.Do] and behind net/http: a table holds
// the doors to that. Interceptors that are added after these run once for each
// attempt, those before them once for each call; of two Interceptors in one chain
// the outer one retries.
//
// # What codes mean
//
//	UNAVAILABLE         transient
//	DEADLINE_EXCEEDED   transient: an attempt's own (WithAttemptTimeout) or one
//	                    behind the server. The caller's own is final (R3.6)
//	RESOURCE_EXHAUSTED  throttling. Final where it is grpc's own, which no server
//	                    has sent: of a message that is too large, of resets that
//	                    R3.2 does not have, or of an interceptor beneath that
//	                    asked no server. What a server says of a message that is
//	                    longer than it receives is a throttle like others (R3.8)
//	ABORTED             final: gRPC's word for "start the transaction anew", which
//	                    the call alone cannot do
//	INTERNAL, UNKNOWN   final: gRPC's for broken invariants, and for whatever a
//	                    handler returns that has no code; HTTP's 500 is transient
//	all others          final
//
// [WithCodes] changes that. Before the code comes what a failure says more closely:
// the reason of a google.rpc.ErrorInfo, if it is a code of R3.1 or R3.2 or of the
// engine's classifier (R3); an error of another interceptor's that says
// RetryableError() bool (R3.5), or that classify knows by its type.
//
// # What is sent twice
//
// Methods whose .proto file gives them an idempotency_level, as far as the program
// has its generated code; those of [WithIdempotent]; a call with [Idempotent]; with
// [WithAnyMethod], everything. Else only a failure that proves that the server
// never saw the attempt: no connection could be made, or had, for it. UNAVAILABLE
// alone proves nothing: that is also the code of a connection that broke while the
// server was at work. What else fails ends as engine.ReasonNotReplayable with no
// tokens taken (R2.1). gRPC's own retryPolicy repeats whatever it is configured
// for; there somebody has said so for the method.
//
// # What a server asks for
//
// The delay of a google.rpc.RetryInfo in the status's details, or of the trailer
// grpc-retry-pushback-ms, whichever is longer, counts as R5 has it: it lengthens
// the backoff, by 5 s at the most, and makes nothing retryable; a pushback of 0 is
// no shorter than the backoff. A pushback that is below zero or no number, or that
// comes twice, forbids a retry: the call ends as engine.ReasonNotReplayable with no
// tokens taken, and no long poll waits (R7). The limiter of adaptive mode hears of
// the throttle all the same (R2.2).
//
// # Streams
//
// A stream is sent again until the first message of its answer, or its end, is
// there. What the caller has sent by then is kept, up to [WithBufferLimit], and sent
// again, the half-close with it; a stream that has sent more goes on, but only
// once. Messages are copied for that, so a caller may use one again. Streams of
// methods that may not be sent twice keep nothing.
//
// Retries happen in whichever method finds the attempt failed, and it blocks for
// their delays: opening, RecvMsg, Header, and SendMsg, whose io.EOF comes only when
// there is no further attempt. (A SendMsg or Header that finds the attempt failed
// while nobody receives has to receive itself. It can do so only with grpc's own
// protocol buffers codec; with another the attempt is then the last.) Headers without
// a message do not end the retries, unless the caller has got them from Header:
// then they stay as they are. So it is with Context. Header, Trailer, CloseSend and
// Context may be called at any time beside the others; Trailer is nil until the
// stream has ended.
//
// For the engine a stream has succeeded with its first message. If it fails later,
// RecvMsg returns that as it is.
//
// As with grpc itself, whoever has a stream must receive until an error comes, or
// end its context. Each attempt has a context of its own, which ends with it.
//
// # What comes back
//
// The first attempt's own error, untouched, if that was not retryable. Else one
// that says why the call ended: an [*engine.Error] to errors.As, and to
// status.FromError the last attempt's status as the server sent it, with its
// details. Where the caller's context ended first, the code is CANCELED or
// DEADLINE_EXCEEDED, and what the server sent is in the *engine.Error; where the
// limiter of adaptive mode let nothing be sent, it is RESOURCE_EXHAUSTED with a
// RetryInfo.
//
// Options that bring something back, grpc.Header, grpc.Trailer and grpc.Peer, do so
// for each attempt and then hold the last one's. What grpc.OnFinish holds is called
// once, at the end of the call. Attempts after the first have the metadata
// grpc-previous-rpc-attempts.
//
// # Connections
//
// While a connection cannot be made, grpc fails calls at once with the last dial's
// error, and dials again only after a second or more: attempts within that time
// dial nothing and end the same way. grpc.WaitForReady(true) lets an attempt wait
// for the connection instead; then set [WithAttemptTimeout] or a deadline.
//
// # Time
//
// The call's context bounds it, delays included: a delay that would not end before
// its deadline is not begun, and the last error comes back at once (R3.6).
// [WithAttemptTimeout] bounds each attempt.
//
// # Not promised
//
// A retry after a stream's first message. Hedges. A codec that adds to what a
// message already holds, instead of replacing it, may see in the reply what a
// failed attempt brought. Clock skew (R3.10): gRPC requests are not signed here.
package grpcretry
