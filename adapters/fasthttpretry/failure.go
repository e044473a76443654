package fasthttpretry

import (
	"bytes"
	"io"
	"iter"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/answer"
)

// failure is what a failed attempt means.
type failure struct {
	err        error // nil: an answer
	verdict    classify.Verdict
	code       string        // normalised; "" if the answer has none
	retryAfter time.Duration // of the answer's headers; 0 if they ask for nothing
}

// examine finds out what a failed attempt means; a nil err is an answer.
func (x *exchange) examine(err error) failure {
	c := x.engine.Classifier()
	if err != nil {
		return failure{err: err, verdict: x.c.explain(c, err)}
	}
	status := x.resp.StatusCode()
	var code string
	if status >= 400 {
		if code, err = errorCode(x.resp); err != nil { // the body was cut
			return failure{err: err, verdict: x.c.explain(c, err)}
		}
	}
	return failure{verdict: c.ExplainResponse(status, code), code: code, retryAfter: x.retryAfter()}
}

// retryAfter returns the delay that the answer asks for (R5).
func (x *exchange) retryAfter() time.Duration {
	h := &x.resp.Header
	d := engine.ParseRetryAfter(field(h, "X-Amz-Retry-After"))
	if d == 0 && x.c.standardRetryAfter {
		d = answer.RetryAfter(field(h, "Retry-After"), field(h, "Date"), field(h, "Age"))
	}
	return d
}

// errorCode returns the error code of a failed answer, without decorations: from
// its x-amzn-errortype header, else from the beginning of its body. An error is
// that of a streamed body's end.
func errorCode(resp *fasthttp.Response) (string, error) {
	if code := classify.NormalizeCode(field(&resp.Header, "X-Amzn-Errortype")); code != "" {
		return code, nil
	}
	if len(resp.Header.ContentEncoding()) > 0 || !answer.MayHoldCode(contentType(&resp.Header)) {
		return "", nil
	}
	var body []byte
	if resp.IsBodyStream() {
		var err error
		if body, err = readStream(resp); err != nil {
			return "", err
		}
	} else {
		body = resp.Body()
	}
	return classify.NormalizeCode(answer.Code(body[:min(len(body), answer.PeekLimit)])), nil
}

// readStream reads the streamed body of a failed answer whose length is known
// and small, and puts what it read in its place. Any other is nil, and stays as it
// is: fasthttp cannot give back what was read of a stream.
func readStream(resp *fasthttp.Response) ([]byte, error) {
	if n := resp.Header.ContentLength(); n < 0 || n > answer.PeekLimit {
		return nil, nil
	}
	body, err := io.ReadAll(resp.BodyStream())
	if err != nil {
		_ = resp.CloseBodyStream()
		return nil, err
	}
	resp.SetBodyStream(bytes.NewReader(body), len(body))
	return body, nil
}

// fields is what a request's header and a response's have in common.
type fields interface {
	Peek(key string) []byte
	All() iter.Seq2[[]byte, []byte]
	Del(key string)
	DelBytes(key []byte)
}

// field returns a header's value, whatever the case of its name: names may have
// been left as somebody wrote them (DisableHeaderNamesNormalizing).
func field(h fields, name string) string {
	if v := h.Peek(name); len(v) > 0 {
		return string(v)
	}
	for k, v := range h.All() {
		if len(k) == len(name) && bytes.EqualFold(k, []byte(name)) {
			return string(v)
		}
	}
	return ""
}

// contentType returns the Content-Type that the server sent, "" for none, for
// which fasthttp answers with a default of its own.
func contentType(h *fasthttp.ResponseHeader) string {
	v := h.ContentType()
	if len(v) == 0 || &v[0] == &defaultContentType[0] {
		return ""
	}
	return string(v)
}

var defaultContentType = new(fasthttp.ResponseHeader).ContentType()
