package fasthttpretry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/engine"
)

// NewProxy returns a handler that forwards each request to upstream, an http or
// https URL of a scheme, a host and perhaps a path that is put before the
// request's, through c. timeout bounds the whole of a call, delays included; zero
// is no bound beside c's. A nil or zero c, another kind of URL, and a timeout
// below zero are errors.
//
// The upstream's own answer passes through, whatever its status, also where the
// quota refused a retry. Without one the handler answers 429 with Retry-After if
// the limiter of adaptive mode let nothing be sent, 504 if time was up, 503 if
// the client beneath had no connection to give, and 502 else. The cause is not
// told to the caller: the engine's Observer sees it.
//
// Where to is upstream's to say and never the request's: its Host and an absolute
// URL in it count for nothing, and CONNECT is refused with 405. Headers that are
// for one hop stay there, in both directions, among them Upgrade; Forwarded and
// X-Forwarded-For, -Host and -Proto are replaced, in whatever case they are
// written. A body that the server streams is read into memory if the client beneath
// is neither a fasthttp.Client nor a HostClient, which may go on with a body when
// its time is up; bound it before the handler. The handler blocks for as long
// as the call does; the shutdown of the server ends its waits.
func NewProxy(c *Client, upstream string, timeout time.Duration) (fasthttp.RequestHandler, error) {
	if c == nil || c.engine == nil {
		return nil, errors.New("reprise/fasthttpretry: NewProxy needs a *Client made by New; this one is nil or zero")
	}
	u, err := url.Parse(upstream)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("reprise/fasthttpretry: NewProxy: upstream %q: want a URL such as http://127.0.0.1:8080 or https://host/base, without user, query and fragment", upstream)
	}
	if timeout < 0 {
		return nil, fmt.Errorf("reprise/fasthttpretry: NewProxy: timeout %v: want 0 (none) or more", timeout)
	}
	p := &proxy{client: c, scheme: u.Scheme, host: u.Host, timeout: timeout}
	p.base = bytes.TrimRight([]byte(u.EscapedPath()), "/")
	p.under = append(bytes.TrimRight([]byte(u.Path), "/"), '/')
	return p.handle, nil
}

// proxy is a handler's settings.
type proxy struct {
	client  *Client
	scheme  string
	host    string
	base    []byte        // path, without a slash at its end
	under   []byte        // what the path of each request starts with, unescaped
	timeout time.Duration // 0: none
}

func (p *proxy) handle(ctx *fasthttp.RequestCtx) {
	if ctx.IsConnect() {
		ctx.Error("this is no tunnel", fasthttp.StatusMethodNotAllowed)
		return
	}
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	if !p.rewrite(ctx, req) {
		ctx.Error("the path leads out of what is served", fasthttp.StatusBadRequest)
		return
	}

	var deadline time.Time
	if p.timeout > 0 {
		deadline = time.Now().Add(p.timeout)
	}
	ctx.Response.Header.SetNoDefaultContentType(true) // an answer without one stays so
	_, err := p.client.do(ctx, deadline, req, &ctx.Response)
	var own *ResponseError
	if err != nil && !errors.As(err, &own) {
		refuse(ctx, err)
		return
	}
	if ctx.Response.StatusCode() == fasthttp.StatusSwitchingProtocols {
		ctx.Error("the upstream changed the protocol", fasthttp.StatusBadGateway)
		return
	}
	dropHopByHop(&ctx.Response.Header)
}

// rewrite makes req what the upstream is asked. The caller's request stays as it
// is; its body is not copied, where the client is done with it when it returns.
// It is false if dots in the path lead out of the upstream's.
func (p *proxy) rewrite(ctx *fasthttp.RequestCtx, req *fasthttp.Request) bool {
	in := &ctx.Request
	in.Header.CopyTo(&req.Header)
	h := &req.Header
	dropHopByHop(h, fasthttp.HeaderExpect, // which the server has seen to
		fasthttp.HeaderForwarded, fasthttp.HeaderXForwardedFor, fasthttp.HeaderXForwardedHost, fasthttp.HeaderXForwardedProto)
	h.Set(fasthttp.HeaderXForwardedFor, ctx.RemoteIP().String())
	h.SetBytesV(fasthttp.HeaderXForwardedHost, in.Header.Host())
	h.Set(fasthttp.HeaderXForwardedProto, "http")
	if ctx.IsTLS() {
		h.Set(fasthttp.HeaderXForwardedProto, "https")
	}

	// Part by part: a path such as //host/ in a whole URI would name another host.
	uri, asked := req.URI(), ctx.URI()
	path := asked.PathOriginal()
	if len(path) == 0 || path[0] != '/' {
		path = append([]byte("/"), path...)
	}
	if len(p.base) > 0 {
		path = append(p.base[:len(p.base):len(p.base)], path...)
	}
	query := asked.QueryString()
	uri.Reset()
	uri.SetScheme(p.scheme)
	uri.SetHost(p.host)
	uri.SetPathBytes(path)
	uri.SetQueryStringBytes(query)
	if !bytes.HasPrefix(uri.Path(), p.under) {
		return false
	}

	switch {
	case in.IsBodyStream() && !p.client.takesBody:
		req.SetBodyStream(in.BodyStream(), in.Header.ContentLength())
	case p.client.takesBody:
		req.SetBody(in.Body())
	default:
		req.SetBodyRaw(in.Body())
	}
	return true
}

// refuse answers for an upstream that has not.
func refuse(ctx *fasthttp.RequestCtx, err error) {
	ctx.Response.Reset()
	var e *engine.Error
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &e) && e.Attempts == 0 && e.Reason == engine.ReasonDeadline:
		ctx.Error("the upstream is being sent as much as it takes", fasthttp.StatusTooManyRequests)
		seconds := max(1, (e.Wait+time.Second-1)/time.Second)
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(int64(seconds), 10))
	case errors.Is(err, fasthttp.ErrNoFreeConns), errors.Is(err, fasthttp.ErrPipelineOverflow), errors.Is(err, fasthttp.ErrNoAvailableClients),
		errors.Is(err, engine.ErrCancelled): // the server shuts down
		ctx.Error("no connection to the upstream is free", fasthttp.StatusServiceUnavailable)
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, engine.ErrDeadline), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, fasthttp.ErrDialTimeout), errors.Is(err, fasthttp.ErrTLSHandshakeTimeout):
		ctx.Error("the upstream took too long", fasthttp.StatusGatewayTimeout)
	default:
		ctx.Error("the upstream could not be asked", fasthttp.StatusBadGateway)
	}
}

// hopByHop are the headers that are for one connection only (RFC 9110, section
// 7.6.1), beside those that Connection names. Trailer is not among them: fasthttp
// passes trailers on as such.
var hopByHop = []string{
	fasthttp.HeaderConnection, fasthttp.HeaderProxyConnection, fasthttp.HeaderKeepAlive, fasthttp.HeaderProxyAuthenticate,
	fasthttp.HeaderProxyAuthorization, fasthttp.HeaderTE, fasthttp.HeaderTransferEncoding, fasthttp.HeaderUpgrade,
}

// dropHopByHop takes away what is for one hop, and more.
func dropHopByHop(h fields, more ...string) {
	names := append(more, hopByHop...)
	for key, list := range h.All() {
		if !bytes.EqualFold(key, []byte(fasthttp.HeaderConnection)) {
			continue
		}
		for name := range bytes.SplitSeq(list, []byte(",")) {
			if name = bytes.TrimSpace(name); len(name) > 0 {
				names = append(names, string(name))
			}
		}
	}
	for _, name := range names {
		h.Del(name)
	}
	// A name may have been left as it was written, where fasthttp does not find it.
	var left [][]byte
	for key := range h.All() {
		if slices.ContainsFunc(names, func(name string) bool { return len(name) == len(key) && strings.EqualFold(name, string(key)) }) {
			left = append(left, bytes.Clone(key)) // Del moves what key points to
		}
	}
	for _, key := range left {
		h.DelBytes(key)
	}
}
