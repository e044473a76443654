package fasthttpretry

import (
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/engine"
)

// Option is one setting of a [Client], read once by [New]. Of two that set the
// same thing the later one counts.
type Option func(*config) error

// config is what the options said.
type config struct {
	anyMethod          bool
	standardRetryAfter bool
	awsHeaders         bool
	attemptTimeout     time.Duration // 0: none
	engineFor          func(*fasthttp.Request) *engine.Engine
}

// WithAnyMethod makes every request one that may be sent twice, whatever its
// method: for services whose every request is a POST and idempotent, such as
// DynamoDB. AWS services need it. For one request, set the header
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
// call, to each attempt (R9), and takes them away afterwards. An invocation id
// that the request already has stays. Default: no headers are added.
func WithAWSHeaders() Option {
	return func(c *config) error {
		c.awsHeaders = true
		return nil
	}
}

// WithAttemptTimeout bounds each attempt, answer and body included, by
// fasthttp's DoTimeout or DoDeadline. An attempt that took longer is a transient
// failure, unless the caller's time is up too (R3.6). Zero and below are an
// error. Default: no bound but the call's own and the client's.
func WithAttemptTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("reprise/fasthttpretry: WithAttemptTimeout(%v): want a duration above zero; leave the option out for no bound", d)
		}
		c.attemptTimeout = d
		return nil
	}
}

// WithEngineFor lets each request have an engine of its own, such as one for its
// host or tenant: f says which, and nil means the one given to New. f is called
// once a call, before the first attempt, must be safe for use by many goroutines
// and must keep nothing of the request. A nil f is an error. Default: New's engine
// for all.
func WithEngineFor(f func(*fasthttp.Request) *engine.Engine) Option {
	return func(c *config) error {
		if f == nil {
			return errors.New("reprise/fasthttpretry: WithEngineFor(nil): want a function; leave the option out for one engine")
		}
		c.engineFor = f
		return nil
	}
}
