// Package faulty is an HTTP server on loopback that fails on purpose, so that a
// retry engine has something real to work against.
//
// # Faults
//
// Each request draws one [Kind] from a [Mix] of shares. The draw of the n-th
// request depends on the seed and on n alone, so two runs that send the same
// number of requests meet the same faults in the same order of arrival.
//
// # Capacity
//
// A server may have one, in requests per second: a token bucket that holds a
// second's worth and is full at the start. A request that finds it empty is
// answered with a throttle; the others draw as above. The number of a request
// counts all that arrived, so a refusal does not shift the draws of the others.
// The longer answers take, the more requests are on their way when the first
// throttle comes back.
//
// # Phases
//
// The server asks how far the run is (0 to 1) and looks it up in an [Outage]:
// before the outage the mix counts as given; during it every request fails;
// over the recovery the failures go back, linearly, to the mix; after it the
// mix counts again. Within an outage the failing kinds keep their proportions.
//
// # Bounds
//
// It listens on 127.0.0.1 alone, on a port that the system picks. A reset
// closes with linger 0, so it leaves no socket behind. [Server.Close] ends slow
// answers at once and returns when no handler is left.
package faulty
