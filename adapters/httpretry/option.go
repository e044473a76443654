package httpretry

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/reprise-go/reprise/engine"
)

// Option is one setting of a [Transport], read once by [New]. Of two that set
// the same thing the later one counts.
type Option func(*config) error

// config is what the options said.
type config struct {
	base               http.RoundTripper
	bodyLimit          int // bytes
	anyMethod          bool
	standardRetryAfter bool
	awsHeaders         bool
	retryMark          bool
	ownRequests        bool            // even a first attempt needs a request of its own
	attemptTimeouts    []time.Duration // by attempt, the last one for all further; none: no bound
	hedgeDelay         time.Duration   // 0: no hedges
	engineFor          func(*http.Request) *engine.Engine
}

// defaultBodyLimit is how much of a request body is kept, in bytes.
const defaultBodyLimit = 64 << 10

// WithBase sets the transport that sends the attempts. A Transport of this
// package is an error: retries under retries multiply; so do those of net/http
// itself, a little, which [NoResend] ends. Default: [http.DefaultTransport].
func WithBase(base http.RoundTripper) Option {
	return func(c *config) error {
		if base == nil {
			return errors.New("reprise/httpretry: WithBase(nil): want a RoundTripper; leave the option out for http.DefaultTransport")
		}
		if _, nested := base.(*Transport); nested {
			return errors.New("reprise/httpretry: WithBase is given a *httpretry.Transport: retries under retries multiply; want the transport beneath it")
		}
		c.base = base
		return nil
	}
}

// WithBodyLimit sets how many bytes of a request body that has no GetBody are
// kept so that it can be sent again. A longer one is sent all the same, but only
// once. Zero keeps nothing; below zero is an error. Default: 65536.
func WithBodyLimit(bytes int) Option {
	return func(c *config) error {
		if bytes < 0 {
			return fmt.Errorf("reprise/httpretry: WithBodyLimit(%d): want 0 bytes (keep nothing) or more", bytes)
		}
		c.bodyLimit = bytes
		return nil
	}
}

// WithAnyMethod makes every request one that may be sent twice, whatever its
// method: for services whose every request is a POST and idempotent, such as
// DynamoDB. AWS services need it: they are asked by POST, and without it a
// failure that came over the wire ends as engine.ReasonNotReplayable, before the
// quota is asked and a long poll could wait (R7). For one request, set the header
// Idempotency-Key instead. Default: only the methods and headers that the
// package comment lists.
func WithAnyMethod() Option {
	return func(c *config) error {
		c.anyMethod = true
		return nil
	}
}

// WithStandardRetryAfter reads the standard Retry-After header, in seconds or
// as a date, where x-amz-retry-after asks for nothing. It counts as R5 has it:
// it lengthens the backoff, by 5 s at the most, and makes nothing retryable.
// Default: only x-amz-retry-after is read.
func WithStandardRetryAfter() Option {
	return func(c *config) error {
		c.standardRetryAfter = true
		return nil
	}
}

// WithAWSHeaders adds the headers amz-sdk-request, with the number of the
// attempt, and amz-sdk-invocation-id, one random UUID for all attempts of a
// call, to each attempt (R9). An invocation id that the request already has
// stays. Default: no headers are added.
func WithAWSHeaders() Option {
	return func(c *config) error {
		c.awsHeaders = true
		return nil
	}
}

// WithAttemptTimeout bounds each attempt, from its start until the headers of
// its response are there; the body is the caller's to read in the caller's own
// time. With several durations the first attempt has the first, the second the
// second, and the last one is that of all further attempts: WithAttemptTimeout(
// 100*time.Millisecond, 2*time.Second) gives up soon on a server that is usually
// quick, and then is patient. An attempt that took longer is a transient failure,
// unless the caller's context is done too (R3.6). Zero and below are an error.
// Default: no bound but the request's context.
func WithAttemptTimeout(first time.Duration, further ...time.Duration) Option {
	all := append([]time.Duration{first}, further...)
	return func(c *config) error {
		for _, d := range all {
			if d <= 0 {
				return fmt.Errorf("reprise/httpretry: WithAttemptTimeout(%v): want durations above zero; leave the option out for no bound", list(all))
			}
		}
		c.attemptTimeouts = all
		return nil
	}
}

// list is durations as they were written, with commas.
func list(all []time.Duration) string {
	var words []string
	for _, d := range all {
		words = append(words, d.String())
	}
	return strings.Join(words, ", ")
}

// WithRetryMark makes this layer one of several that know of each other. A
// request that bears a mark, in its [RetryMarkHeader] or in its context (see
// [RetryMark]), is sent once, its mark with it: the layer that set it retries.
// Such a call ends as engine.ReasonNotReplayable where else there would have been
// a retry, with no tokens taken. Any other request that this layer may send again
// is marked, in header and context, with the number of the attempt. Each attempt
// then has a request of its own, a success at the first attempt too. Default: no
// header is read or set; a mark in the context counts.
func WithRetryMark() Option {
	return func(c *config) error {
		c.retryMark = true
		return nil
	}
}

// WithHedge sends one more attempt, a hedge, beside one that has no response
// headers after the delay, and takes whichever of the two first brings a success
// or a failure that is not retryable; the other is cancelled. That cuts the tail of
// the latency where a few answers take much longer than most: a delay that nine of
// ten answers keep is a good one.
//
// A hedge is an attempt: it counts against the engine's attempts, has its own
// time-out and headers, and takes from the quota what a retry after a transient
// failure does; if it wins, it gives that back (R6), if not, that is spent. So
// hedges die out when everything is slow: in the long run one in fourteen calls is
// hedged in vain. Where the quota or adaptive mode's limiter refuses, there is no
// hedge, and nothing else changes. After a failure of both the usual retry
// follows. See [engine.Call.Hedge].
//
// Only requests that may be sent twice (see the package comment) and have no
// body, or one with GetBody, are hedged; never long polls, requests with an
// Upgrade header, and those that a layer above retries. Their attempts run in
// goroutines of their own: the hooks of an httptrace.ClientTrace may be called by
// two at once, and an attempt that was cancelled may end after RoundTrip has
// returned; if the base panics in that, nobody hears of it. A delay of zero or
// below is an error. Default: no hedges.
func WithHedge(delay time.Duration) Option {
	return func(c *config) error {
		if delay <= 0 {
			return fmt.Errorf("reprise/httpretry: WithHedge(%v): want a delay above zero; leave the option out for no hedges", delay)
		}
		c.hedgeDelay = delay
		return nil
	}
}
