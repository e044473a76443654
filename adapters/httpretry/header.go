package httpretry

import (
	"net/http"

	"github.com/reprise-go/reprise/internal/invocation"
)

// addHeaders adds the headers of attempt n to req, whose header map becomes its
// own: an earlier attempt may still be writing the caller's (R9).
func (x *exchange) addHeaders(req *http.Request, n int) {
	if req.Header = req.Header.Clone(); req.Header == nil {
		req.Header = make(http.Header, 2)
	}
	if req.Header.Get(invocation.IDHeader) == "" {
		if x.id == "" {
			x.id = invocation.NewID()
		}
		req.Header[invocation.IDHeader] = []string{x.id}
	}
	req.Header[invocation.AttemptHeader] = []string{invocation.Attempt(n, x.t.engine.MaxAttempts())}
}
