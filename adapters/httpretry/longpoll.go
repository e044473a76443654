package httpretry

import (
	"context"
	"net/http"
	"strings"

	"github.com/reprise-go/reprise/engine"
)

type longPollKey struct{}

// LongPoll marks the requests made under the context it returns as long polls:
// if the quota refuses a retry, the normal backoff is waited before the response
// or error is returned (R7). Requests whose X-Amz-Target header names one of the
// four operations of [engine.LongPolling] need no mark.
func LongPoll(ctx context.Context) context.Context {
	return context.WithValue(ctx, longPollKey{}, true)
}

func longPoll(req *http.Request) bool {
	if target := req.Header["X-Amz-Target"]; len(target) == 1 {
		// The service's name, a dot, the operation's.
		if engine.LongPolling(target[0][strings.LastIndexByte(target[0], '.')+1:]) {
			return true
		}
	}
	return req.Context().Value(longPollKey{}) != nil
}
