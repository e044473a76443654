// Package dynamoretry does for DynamoDB what no retry of a single request can do:
// it sends again what a batch left unprocessed, and it tells which cancelled
// transactions are worth another attempt. R3.1 and the like are clauses of
// RETRY.md, in the root of the repository.
//
// # Batches
//
// BatchWriteItem and BatchGetItem succeed although the service did only a part
// of what they asked for: what it had no capacity for comes back as
// UnprocessedItems or UnprocessedKeys, with status 200, so no retry policy sees a
// failure. [BatchWriteItem] and [BatchGetItem] take the client's own input and
// return its own output, and in between send the rest again through an engine.
//
//		             ≤ 25 writes or 100 keys
//		input ──▶ batch ──▶ request ──▶ nothing left ────────▶ next batch
//		                      ▲            │
//		                      │            │ a rest
//		                      │            ▼
//		                      │    engine: attempts, quota, delay, deadline
//		                      │      │            │
//		                      └──────┘            └─ refused ──▶ to what is left,
//		                    the rest alone                       next batch
//
//	  - A batch is one call of the engine, each of its requests an attempt. One
//	    that leaves a rest, however small, was throttled: the rest costs what a
//	    throttling retry costs and waits the throttling backoff (R3.1, R4.1, R6).
//	    What a request did get done does not start the count afresh, so a batch
//	    makes at most the engine's MaxAttempts requests.
//	  - A batch whose rest is refused does not keep the next one from its first
//	    request, which is never charged (R6.1). A context that is done, and an
//	    error of the client's, do: nothing more is sent.
//	  - An error of the client's ends it all, because the client has a retry policy
//	    of its own that has spoken. Its error comes back as it is, with what is left
//	    beside it; whether the service did a part of the failed request is not known.
//	  - The order within a table is kept, one request is under way at a time, and
//	    there is no goroutine. Requests that name one item twice are not looked for:
//	    the service refuses them where they meet in one request, and does both where
//	    they do not.
//	  - The rest is sent as it came back, by the service's names of its tables; one
//	    that is larger than what was sent is an error.
//	  - The input is not written to, and what is returned shares its items.
//
// DynamoDB says UnprocessedKeys too when an answer would exceed 16 MB, which is
// not told apart from a throttle. Who reads such tables may give the engine a
// shorter throttling base (engine.WithSchedule) or ask for fewer keys.
//
// The engine is best one of standard mode with the service's settings
// (engine.WithService("DynamoDB")), and may be the one that the client itself
// retries on, with one quota for both. An adaptive one counts and admits every
// request once here, and, if the client is on it too, once more there.
//
// # Transactions
//
// TransactionCanceledException is not retryable as such (R3.3), but carries one
// reason per item. [TransactionCanceled] reads them.
package dynamoretry
