package httpretry

import (
	"context"
	"net/http"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/internal/answer"
)

// errorCode returns the error code of a failed response, without decorations:
// from its x-amzn-errortype header, else from its body, which stays whole in
// own, the response to go on with. cut says that ctx ended before the body had
// shown a code or that there is none.
func errorCode(ctx context.Context, resp *http.Response) (own *http.Response, code string, cut bool) {
	if code := classify.NormalizeCode(resp.Header.Get("X-Amzn-Errortype")); code != "" {
		return resp, code, false
	}
	if !mayHoldCode(resp) {
		return resp, "", false
	}
	limit := peekLimit
	if resp.ContentLength >= 0 && resp.ContentLength < peekLimit {
		limit = int(resp.ContentLength) + 1 // one more, to see the end
	}
	ahead := readAhead(ctx, resp, limit)
	code = classify.NormalizeCode(answer.Code(ahead.start()))
	return ahead.to, code, code == "" && ctx.Err() != nil && !ahead.complete()
}

// mayHoldCode reports whether a body is worth a look: it is there, is not
// compressed, and is JSON, XML, or does not say what it is.
func mayHoldCode(resp *http.Response) bool {
	if resp.Body == nil || resp.Body == http.NoBody || resp.ContentLength == 0 || resp.Header.Get("Content-Encoding") != "" {
		return false
	}
	if resp.Request != nil && resp.Request.Method == http.MethodHead {
		return false
	}
	return answer.MayHoldCode(resp.Header.Get("Content-Type"))
}
