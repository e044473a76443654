package httpretry

import (
	"net/http"

	"github.com/reprise-go/reprise/internal/invocation"
)

// addAWSHeaders adds the headers of attempt n to the attempt's own (R9).
func (x *exchange) addAWSHeaders(h http.Header, n int) {
	if h.Get(invocation.IDHeader) == "" {
		if x.id == "" {
			x.id = invocation.NewID()
		}
		h[invocation.IDHeader] = []string{x.id}
	}
	h[invocation.AttemptHeader] = []string{invocation.Attempt(n, x.engine.MaxAttempts())}
}
