package httpretry

import (
	"errors"
	"fmt"
	"net/http"
	"time"
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
	attemptTimeout     time.Duration // 0: none
}

// defaultBodyLimit is how much of a request body is kept, in bytes.
const defaultBodyLimit = 64 << 10

// WithBase sets the transport that sends the attempts. A Transport of this
// package is an error: retries under retries multiply. Default:
// [http.DefaultTransport].
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
// time. An attempt that took longer is a transient failure, unless the caller's
// context is done too (R3.6). Zero and below are an error. Default: no bound
// but the request's context.
func WithAttemptTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("reprise/httpretry: WithAttemptTimeout(%v): want a duration above zero; leave the option out for no bound", d)
		}
		c.attemptTimeout = d
		return nil
	}
}
