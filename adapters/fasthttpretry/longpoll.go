package fasthttpretry

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/engine"
)

type longPollKey struct{}

// LongPoll marks req as a long poll until it is reset: if the quota refuses a
// retry, the normal backoff is waited before the call returns (R7). Requests
// whose X-Amz-Target header, on a POST, names one of the four operations of
// [engine.LongPolling] need no mark. Wait-free.
func LongPoll(req *fasthttp.Request) { req.SetUserValue(longPollKey{}, true) }

func longPoll(req *fasthttp.Request) bool {
	if req.Header.IsPost() { // as all that have that header are, and few others
		target := req.Header.Peek("X-Amz-Target") // the service's name, a dot, the operation's
		if engine.LongPolling(string(target[bytes.LastIndexByte(target, '.')+1:])) {
			return true
		}
	}
	return req.UserValue(longPollKey{}) != nil
}
