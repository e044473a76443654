// Package caddyretry is the retry engine as a transport of Caddy's reverse_proxy:
// the module http.reverse_proxy.transport.reprise. It is Caddy's own HTTP transport
// with the door of package httpretry above it, so a failure has the same class,
// cost, delay and reason here as there, and all settings of Caddy's transport hold.
//
//	reverse_proxy 127.0.0.1:9000 {
//		transport reprise {
//			attempt_timeout 2s 5s
//			timeout 30s
//		}
//	}
//
// The settings are [Transport]'s fields; the words are those of reprise proxy's
// file. Import the package in the main package of a Caddy, beside Caddy's standard
// modules; cmd/caddy is such a one.
//
// # Engines
//
// Each upstream, by the address that Caddy dials, has an engine: a retry quota and,
// in adaptive mode, a send limiter of its own (R6.2). They belong to a name: all
// transports of one name share them, and want the same settings of the engine; that
// they do not is an error. There are max_upstreams of them at the most; see
// [engine.Group] for which upstreams have none when there are more, as with dynamic
// upstreams.
//
// They live as long as some configuration has a transport of their name, so a reload
// keeps them: tokens, limiters, counts, and the retries that are out. A changed
// setting holds from the first request of the new configuration on, for all calls
// that begin then, and neither takes nor gives a token; so a configuration that
// fails after it was read changes nothing. Another mode, coalesce or max_upstreams
// cannot be changed under way: the engines are then new ones, at the level of the
// old, and their counts begin at zero.
//
// # What is sent twice
//
// What httpretry sends twice: idempotent methods, requests with an Idempotency-Key,
// what the upstream has never seen, or everything with any_method. A request's body
// is kept while it streams through, up to body_limit bytes; a longer one is sent
// once. request_buffers of reverse_proxy is not needed for that. The upstream is
// that which reverse_proxy has chosen, for all attempts of a call.
//
// Caddy's transport sends nothing again by itself over HTTP/1, so that no connection
// that died brings a request that no quota pays for (httpretry.NoResend): where the
// upstream's URL is http and versions does not name h2c, or it is https and versions
// is 1.1. Over HTTP/2 net/http sends again what the upstream says that it has not
// processed. Over HTTP/3 answers are judged as ever; of failures those that are
// time-outs to package net are transient, and the rest is final.
//
// Active health checks pass as they are: one attempt, no tokens either way. Passive
// ones see a call, not its attempts: max_fails counts calls that ended without an
// answer, unhealthy_latency has the retries and delays in it.
//
// # Caddy's own retries
//
// lb_retries and lb_try_duration make reverse_proxy send again what the transport
// has given up, and take no heed of quota, class and delay. They are for going to
// another upstream when one is down. A transport that finds them warns when it is
// provisioned, and makes one attempt of each round after a request's first, so that
// rounds add to the attempts and do not multiply them. In a configuration that
// counts on retries, leave them out.
//
// # What a client sees
//
// The upstream's answer whenever there is one, whatever its status. Else Caddy's
// error: 504 if time ran out, 502 if the upstream could not be asked; and if the
// client has left, 499 in the log. One answer is the transport's own: 429 with
// Retry-After, if adaptive mode's limiter let nothing be sent within timeout.
//
// timeout bounds a call until the headers of its answer. There is none unless it is
// said, as with Caddy's own time-outs: set one, in adaptive mode above all, where a
// call may wait for its turn as long as its client does.
//
// # Logs and metrics
//
// A call sets the placeholders
//
//	{http.reverse_proxy.retry.attempts}  attempts made; 0 if none was let go
//	{http.reverse_proxy.retry.reason}    why there was no further one, as engine.Reason spells it; empty after a success
//	{http.reverse_proxy.retry.class}     class of the last failure; empty after a success
//	{http.reverse_proxy.retry.code}      error code of the answer, if it had one
//
// and, where it was retried or would have been, the fields retry_attempts,
// retry_reason and retry_class of the access log. With lb_retries, attempts are
// those of all rounds.
//
// Caddy's registry has the metrics of package promretry, with the labels engine,
// which is the name, and key, which is the upstream: a hundred by name, and all
// others together under the key "other". The directive metrics and the admin
// endpoint show them; promretry's rules and board fit.
//
// # Not promised
//
// A retry after the headers of a success; a retry at another upstream; anything
// about connections that were upgraded, which are handed through. AWS_RETRY_MODE and
// AWS_MAX_ATTEMPTS are not read: a Caddyfile takes them as {$AWS_RETRY_MODE}.
package caddyretry
