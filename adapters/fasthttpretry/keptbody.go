package fasthttpretry

import "github.com/valyala/fasthttp"

// keptBody holds on to the body of a request whose client may take it away:
// with a deadline, fasthttp's PipelineClient moves the body into a copy of the
// request, which it may still be sending when the time is up. A request that has
// KeepBodyBuffer set is copied instead, but for a body that was given by
// SetBodyRaw; that belongs to the caller and is only read, so it can be given
// back.
type keptBody struct {
	bytes []byte
	flag  bool // KeepBodyBuffer, as the caller set it
}

func (b *keptBody) keep(req *fasthttp.Request) {
	b.bytes, b.flag = req.Body(), req.KeepBodyBuffer
	req.KeepBodyBuffer = true
}

// restore gives the body back if it has been taken away.
func (b *keptBody) restore(req *fasthttp.Request) {
	if len(b.bytes) > 0 && len(req.Body()) == 0 {
		req.SetBodyRaw(b.bytes)
	}
}

func (b *keptBody) release(req *fasthttp.Request) {
	b.restore(req)
	req.KeepBodyBuffer = b.flag
}
