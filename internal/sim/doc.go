// Package sim simulates a fleet of clients and the service that they call, in
// virtual time, to see what a retry policy does to a service in trouble. It runs
// the engine itself (Call, quota, backoff, send limiter), not a model of it.
//
//	r, err := sim.Run(scenario, sim.Standard(), sim.Watch{})
//
// A [Scenario] says who calls what and what befalls them, a [Policy] how the
// callers retry, a [Result] what came of it: totals and, sample by sample, a
// [Point]. [Watch] is told of each call's end (for latencies, which are not kept)
// and of each sample (for charts and progress), and may end the run.
//
// # What is simulated
//
//	clients ──▶ gateways ──▶ ... ──▶ server
//	layers[0]   layers[1]            shards: throttle, errors, queue, workers, cache
//	each caller an engine of its own
//
// Calls arrive in an open loop (a Poisson or an even stream, with a swing, with
// crowds, in bursts) or are begun by loops that wait for their answers. A caller
// sends an attempt down, which takes the layer's Latency; its answer takes it
// again. An attempt that runs into the layer's Timeout has failed as transient; but
// below nobody is told, so the request is served all the same. A call that runs
// into its layer's Deadline is over. A gateway makes a call of its own for each
// request and passes on what it ends with. What the server refuses (a throttle, an
// error, a full queue) it refuses at once, and no worker is busy with it.
//
// # What the engine does not do here
//
// Two things are the simulation's, since the engine does them with goroutines: the
// line before the send limiter, in which only the first asks, and in which nobody
// stands who would wait for half of his time or more, as [engine.Call.AdmitWait] has
// it (a test holds both together); and the end of a call at its deadline.
//
// # Determinism
//
// One goroutine runs a simulation; every use of chance has a generator of its own,
// seeded by Scenario.Seed; events of one instant happen in the order in which they
// were scheduled. So a seed's result is the same, bit for bit, on any number of
// processors, and two policies meet the same arrivals. Not promised: the same bits
// on another architecture, where floating-point operations may be fused.
//
// # How it is fast
//
// An event is a value of 32 bytes, a call under way one of 64, a cache line, both in
// arrays that grow and are used again; once they have their size a run allocates
// nothing but what adaptive limiters publish. Events whose time from now is always
// the same (latencies, time-outs, deadlines, arrivals) need no sorting: they stand in
// lanes, a queue for each kind. The others go through a timing wheel in front of a
// small heap, so the millionth event in flight costs what the first did but for the
// memory that it misses.
//
// With millions of calls under way, most events of a call that waits for long miss
// the cache. So an event carries what its handler needs, most of the way does not
// look at the call at all, and the calls of events that are due soon are read
// together, before the first of these happens: their misses overlap.
//
//	go test ./internal/sim -run '^$' -bench Run -cpu 1
//
// measures it: one to three million calls a second of a core. Of the two million
// that are under way in "crowded" each takes some 120 bytes; with a deadline and a
// time-out, as in "crowded-in-time", some 300.
package sim
