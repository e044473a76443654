package httpretry

import (
	"context"
	"net/http"
	"strings"

	"github.com/reprise-go/reprise/engine"
)

// LongPoll marks the requests made under the context it returns as long polls:
// if the quota refuses a retry, the normal backoff is waited before the response
// or error is returned (R7), and there are no hedges. Requests whose X-Amz-Target
// header names one of the four operations of [engine.LongPolling] need no mark.
func LongPoll(ctx context.Context) context.Context {
	return withMarks(ctx, func(m *marks) { m.longPoll = true })
}

// longPollTarget reports whether a request names a long-polling operation.
func longPollTarget(req *http.Request) bool {
	target := req.Header["X-Amz-Target"]
	// The service's name, a dot, the operation's.
	return len(target) == 1 && engine.LongPolling(target[0][strings.LastIndexByte(target[0], '.')+1:])
}
