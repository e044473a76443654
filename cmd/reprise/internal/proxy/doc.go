// Package proxy is `reprise proxy`: a reverse proxy whose attempts are the
// engine's.
//
// # What an upstream is
//
// A service, at one URL or at several alike. It has one engine, whatever the
// number of its URLs: the quota bounds what retries add to the load of the
// service, and a retry that goes to another URL is load on the same service.
// Attempts go round the URLs, a retry to the one after its call's last, and a URL
// to which no connection could be made is passed over for a second if another is
// left. That is what a few replicas need; it is no load balancer.
//
// # What a client sees
//
// The upstream's answer, untouched, whatever its status, whenever there is one.
// Else an answer of the proxy's own, one line of text: 429 with Retry-After if
// the send limiter of adaptive mode let nothing be sent; 504 if time ran out; 502
// if the upstream could not be asked; 503 while the proxy ends; 408 or 400 if the
// client's own body stopped or broke; 404 if the request is for no upstream. A
// client that has left gets nothing, and is logged as status 499. An answer whose
// body breaks off is broken off in turn, never ended as if it were whole.
//
// # What bounds it
//
// Connections, bytes of a header, bytes kept of a body, the time that a client
// may take to send a header, to go on with a body, or to take what it is sent,
// and the time until an answer's headers. Nothing bounds how long a body or an
// upgraded connection may last: each byte that moves renews the client's time.
//
// # Changes while it runs
//
// The table of upstreams is immutable behind one pointer; a request uses the one
// it found. [Server.Reload] makes a new table in which an upstream that keeps its
// name keeps its engine, reconfigured, and so its quota, its limiter and the
// tokens that are out. Only another mode or window of coalescing needs an engine
// of its own, which starts at the level of the old.
package proxy
