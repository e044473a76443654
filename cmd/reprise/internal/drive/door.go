package drive

import (
	"net/http"
	"time"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// door returns base with the engine e around it, and a time-out of each attempt
// unless that is 0.
func door(e *engine.Engine, base http.RoundTripper, attemptTimeout time.Duration) (http.RoundTripper, error) {
	options := []httpretry.Option{
		httpretry.WithBase(base),
		// The calls are reads whatever their method, as DynamoDB's GetItem is.
		httpretry.WithAnyMethod(),
	}
	if attemptTimeout > 0 {
		options = append(options, httpretry.WithAttemptTimeout(attemptTimeout))
	}
	return httpretry.New(e, options...)
}
