// Package awsretry is the retry engine behind the clients of aws-sdk-go-v2: two
// lines where the config is loaded, and nothing where it is used.
//
//	e, err := awsretry.LoadEngine(ctx, cfg)
//	err = awsretry.Apply(&cfg, e)
//
// # Two ways in
//
// [Apply] gives the engine the loop. It sets a Retryer that holds the SDK's own
// loop to single attempts, and adds two middlewares: one before the SDK's, which
// is the loop, and one behind it, which numbers the attempts (R9). The SDK's
// stays in its place because it signs with the skew of the clock, rewinds
// nothing at a first attempt, and records spans and metrics.
//
// [NewRetryer] is an aws.RetryerV2 for code that takes that and nothing else.
// There the SDK's loop asks, and sleeps for itself.
//
//	                               Apply                  NewRetryer
//	class, attempts, quota,        the engine's           the engine's
//	delays, adaptive limiter
//	x-amz-retry-after (R5)         the engine's           the SDK's reading of it
//	a delay that does not fit      ends the call at once  mostly too: the SDK draws
//	before the deadline                                   once more, and sleeps what
//	                                                      it draws, at the most until
//	                                                      the deadline
//	tokens of a retry that was     come back (R6.3)       are lost
//	cancelled in its delay
//	the service's error then       is kept                is lost
//	a body that cannot be sent     the service's error,   the SDK's rewind error,
//	again                          no tokens taken        tokens lost
//	engines                        one for each service   one for each Retryer
//	                               and region, or by key
//	service's own attempts and     by the call's service  of the engine's service
//	delays (R1.1, R4.1)            id
//	DynamoDB's checksum is wrong   transient              logged by the SDK
//	engine.WithPacing, the         yes                    no
//	engine's Clock for delays
//	engine's events and counts     yes                    yes
//
// # Which engine
//
// The engine given to Apply is a template. Each service and region has an engine
// of its own, made on first use in an engine.Group, with its own quota and
// limiter, and shared by all clients that are made from the config or its
// copies. What the template was told holds for all; what it was not told is the
// service's default. [PerOperation], [PerTable] and [WithKey] part them further,
// [WithSharedEngine] makes the template pay for everything. Two configs that
// Apply is given the same engine share nothing but settings, unless both say
// WithSharedEngine. [EnginesOf] finds the engines, for metrics and
// Engines.Reconfigure.
//
// # What a client or a call may still say
//
//   - RetryMaxAttempts, of the config, a client's options or a call's: it is
//     honoured, the nearest to the call first. In the config it must not
//     contradict what the engine was told, and is what Engines.Reconfigure
//     changes; a client's and a call's own it leaves alone, unless they are the
//     same as the config's. A negative one means no limit to the SDK; here it is an
//     error in the config, and ignored in a client or a call.
//   - Retryer of a client's options or a call's: that Retryer is used, by the
//     SDK's own loop, and the engine stays out; aws.NopRetryer switches retries
//     off.
//   - A Retryer around the one that was there: retry.AddWithMaxAttempts is
//     honoured; retry.AddWithErrorCodes too, and its codes are transient unless
//     the classifier knows better; retry.AddWithMaxBackoffDelay is without effect
//     in Apply, where engine.WithSchedule says it.
//   - RetryMode: once there is a Retryer the SDK does not look at it. The engine's
//     mode counts, and [LoadEngine] gives it the config's.
//   - A client that throws the config's APIOptions away has single attempts.
//   - client.Options().Retryer is, after Apply, what keeps the SDK's loop out, and
//     says so to whoever asks it: nothing is retryable. NewRetryer's can be asked.
//
// Presigned requests have no retry loop and get none. Event streams are retried
// until the response's headers are there, and streaming downloads, as in the SDK,
// until then too: whoever reads the body sees what happens to it later.
//
// # What comes back
//
// Errors are what the SDK returns to errors.As and errors.Is: the service's types,
// smithy.APIError, ResponseError and OperationError; retry.MaxAttemptsError when
// the attempts are used up, ratelimit.QuotaExceededError when the quota refuses,
// aws.RequestCanceledError and the context's error when the caller's time is over
// in or before a delay. In between stands an [*engine.Error], which says why there
// was no further attempt and holds the service's error in all of these cases; a
// first attempt's error that is not retryable comes back untouched. The results
// of all attempts are in the metadata (retry.GetAttemptResults), with one
// difference: where the SDK puts the error of a cancelled delay, the service's
// stands.
//
// # Deliberate differences from the SDK's standard mode
//
//   - No sleep goes on to the deadline when the delay cannot fit: the caller gets
//     the service's error while there is time to use it. It answers as the
//     RequestCanceledError and the context.DeadlineExceeded that would have come.
//   - In Apply a retry that was not sent gives its tokens back, and one whose body
//     cannot be sent again takes none (R6.3): impatient callers do not empty the
//     quota for the patient. With NewRetryer they do, as in the SDK.
//   - In Apply the quota belongs to a service and region, not to a client: the
//     limit that is being protected is theirs.
//   - The codes InternalError and IDPCommunicationError are transient whatever the
//     status (R3.2).
//   - A request that could not be sent is judged by what failed: certificates,
//     impossible URLs, a missing route and this machine's own faults are final,
//     where the SDK retries all. A cause that exists as text only is unknown (R3.8),
//     as is an error type of an HTTP client's own, unless it says
//     RetryableError() true (R3.5).
//   - A body that is cut short, and in Apply one whose X-Amz-Crc32 is wrong, is
//     transient: the SDK calls the first final and logs the second.
//   - An attempt that ran into a deadline of its own, which a middleware set, is
//     transient (R3.6); the SDK takes any deadline for the caller's.
//   - x-amz-retry-after beyond 64 bits, or beyond what a time.Duration holds, is
//     too large, not absent or negative (R5.2); with a sign it is no number (R5.1).
//   - The skew that the client knows is kept for a retry whose answer had no Date;
//     the SDK forgets it for that retry.
//   - In adaptive mode a wait for the limiter that does not fit before the deadline
//     ends the call at once, the limiter cuts and recovers by R8, and waiting
//     callers are served in order.
//   - The text of an error that ended the attempts is the engine's: "attempts used
//     up after 3 attempts" and the service's error, not "exceeded maximum number
//     of attempts, 3".
//   - With aws.LogRetries the lines are the engine's, in Apply: one before each
//     delay, with its length, and one for each call that has failed, whatever ended
//     it. The SDK is silent about quota and cancellation.
//   - The User-Agent does not say m/E or m/F, by which the SDK counts clients with
//     its own two retryers.
//
// # What is not promised
//
// That a middleware which somebody else inserts right before the SDK's "Retry",
// after Apply's, is run once a call: there it is run for each attempt. The
// SDK's interceptors are where it has them. Clients made before Apply keep the
// Retryer that they had.
package awsretry
