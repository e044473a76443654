// Package whole measures what retries add to whole programs: a GetItem through the
// AWS SDK, a GET through net/http, and the memory of many engines that do nothing.
// Each is the same program with another retryer in it, and each retryer is set as
// its documentation says: three attempts, exponential backoff with jitter.
//
// make bench-whole runs the benchmarks in rounds, each of which has all of them, and
// prints what benchstat and the command table make of it.
package whole
