package grpcretry

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/reprise-go/reprise/classify"
)

// Option is one setting of an [Interceptor], read once by [New]. Of two that set
// the same thing the later one counts.
type Option func(*config) error

// config is what the options said.
type config struct {
	bufferLimit     int // bytes
	anyMethod       bool
	methods         map[string]bool // full names, and services with a slash at the end
	codes           map[codes.Code]classify.Class
	attemptTimeouts []time.Duration // by attempt, the last one for all further; none: no bound
	engineFor       chooser
}

// defaultBufferLimit is how much of what was sent on a stream is kept, in bytes.
const defaultBufferLimit = 64 << 10

// WithBufferLimit sets how many bytes of what a caller sends on a stream are kept
// so that they can be sent again. Each message counts with its size as encoded,
// not compressed, and 64 bytes more. A stream that has sent more goes on all the
// same, but is not retried. Zero keeps nothing; below zero is an error. Unary
// calls keep nothing, so they have no limit. Default: 65536.
func WithBufferLimit(bytes int) Option {
	return func(c *config) error {
		if bytes < 0 {
			return fmt.Errorf("reprise/grpcretry: WithBufferLimit(%d): want 0 bytes (keep nothing) or more", bytes)
		}
		c.bufferLimit = bytes
		return nil
	}
}

// WithIdempotent names methods that may be sent twice, by their full names
// ("/grpc.health.v1.Health/Check") or, for all of a service's, "/grpc.health.v1.Health/*".
// Several of these options add up. Another form, and no name at all, is an error.
// For one call there is [Idempotent]. Default: the methods whose .proto file gives
// them an idempotency_level.
func WithIdempotent(methods ...string) Option {
	return func(c *config) error {
		if len(methods) == 0 {
			return errors.New(`reprise/grpcretry: WithIdempotent names no method: want "/package.Service/Method" or "/package.Service/*"`)
		}
		all := maps.Clone(c.methods)
		if all == nil {
			all = make(map[string]bool)
		}
		for _, name := range methods {
			service, method, ok := splitMethod(name)
			if !ok {
				return fmt.Errorf(`reprise/grpcretry: WithIdempotent(%q): want "/package.Service/Method" or "/package.Service/*"`, name)
			}
			if method == "*" {
				name = "/" + service + "/"
			}
			all[name] = true
		}
		c.methods = all
		return nil
	}
}

// splitMethod takes a full method name apart.
func splitMethod(name string) (service, method string, ok bool) {
	name, ok = strings.CutPrefix(name, "/")
	slash := strings.LastIndexByte(name, '/')
	if !ok || slash <= 0 || slash == len(name)-1 {
		return "", "", false
	}
	return name[:slash], name[slash+1:], true
}

// WithAnyMethod makes every call one that may be sent twice: for servers all of
// whose methods are idempotent. Default: only those that the package comment
// lists.
func WithAnyMethod() Option {
	return func(c *config) error {
		c.anyMethod = true
		return nil
	}
}

// WithCodes changes what status codes mean, on top of the table in the package
// comment, and on top of earlier such options. codes.OK and a class that is none
// are errors. Default: that table.
func WithCodes(classes map[codes.Code]classify.Class) Option {
	return func(c *config) error {
		for code, class := range classes {
			if code == codes.OK {
				return errors.New("reprise/grpcretry: WithCodes: OK is no failure and has no class")
			}
			if !class.Valid() {
				return fmt.Errorf("reprise/grpcretry: WithCodes: %v has class %d: want NonRetryable, Transient or Throttling", code, class)
			}
		}
		all := maps.Clone(c.codes)
		if all == nil {
			all = make(map[codes.Code]classify.Class)
		}
		maps.Copy(all, classes)
		c.codes = all
		return nil
	}
}

// WithAttemptTimeout bounds each attempt: of a unary call until its end, which
// the server is told; of a stream on which only the server sends more than once,
// until its first message or end. A stream on which the caller may go on sending
// is not bounded, since its pace is the caller's. With several durations the first
// attempt has the first, the second the second, and the last one is that of all
// further attempts. An attempt that took longer is a transient failure, unless the
// caller's context is done too (R3.6). Zero and below are an error. Default: no
// bound but the call's context.
func WithAttemptTimeout(first time.Duration, further ...time.Duration) Option {
	all := append([]time.Duration{first}, further...)
	return func(c *config) error {
		for _, d := range all {
			if d <= 0 {
				return fmt.Errorf("reprise/grpcretry: WithAttemptTimeout(%s): want durations above zero; leave the option out for no bound", list(all))
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

// attemptTimeout returns the time-out of attempt n, from 1; 0 is none.
func (c *config) attemptTimeout(n int) time.Duration {
	if len(c.attemptTimeouts) == 0 {
		return 0
	}
	return c.attemptTimeouts[min(n, len(c.attemptTimeouts))-1]
}
