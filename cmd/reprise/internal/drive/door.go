package drive

import (
	"net/http"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// door returns base with the engine e around it.
func (d *Drive) door(e *engine.Engine, base http.RoundTripper) (http.RoundTripper, error) {
	options := []httpretry.Option{
		httpretry.WithBase(base),
		// The calls are reads whatever their method, as DynamoDB's GetItem is.
		httpretry.WithAnyMethod(),
	}
	if d.config.AttemptTimeout > 0 {
		options = append(options, httpretry.WithAttemptTimeout(d.config.AttemptTimeout))
	}
	return httpretry.New(e, options...)
}
