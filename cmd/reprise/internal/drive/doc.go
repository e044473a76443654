// Package drive sends real HTTP calls through the retry engine, by default to
// an embedded server that fails on purpose, and records what happens.
//
// # A call
//
// A call is one request through an http.Client whose transport is httpretry.
// Beneath that sits the base of this package, which counts and times attempts
// and reads small answers whole, so that an answer cut off in its body is a
// failed attempt like any other and not a surprise after the engine's part is
// done. The latency that retries added is what a call took beyond the service
// time of its last attempt.
//
// # A run
//
// Workers begin calls, at a set rate or as fast as they can, until the time or
// the calls are used up. Calls in flight are then left to end, five seconds at
// the most. When the caller's context is done the calls in flight are
// cancelled.
//
// # What is bounded
//
// Connections: one for each worker. Sockets: the embedded server's resets and
// the client's own closes leave nothing in TIME_WAIT. Memory: see package
// record. Reach: unless told otherwise the client dials loopback addresses
// only, follows no redirects, and uses no proxy.
package drive
