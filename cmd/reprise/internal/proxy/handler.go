package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// flushInterval is how long a piece of an answer of known length may wait for
// more. What has no length, and events, go out at once.
const flushInterval = 50 * time.Millisecond

// serve is the handler of the main listener.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		s.counts.refused.Add(1)
		refuse(w, http.StatusMethodNotAllowed, "CONNECT is not served: this is no forward proxy")
		return
	case r.URL.Host != "" || r.URL.Scheme != "":
		s.counts.refused.Add(1)
		refuse(w, http.StatusBadRequest, "a whole URL as the target is not served: this is no forward proxy")
		return
	}
	if status, text := unserved(r); status != 0 {
		s.counts.refused.Add(1)
		refuse(w, status, text)
		return
	}
	u := s.table.Load().find(r)
	if u == nil {
		s.counts.unrouted.Add(1)
		refuse(w, http.StatusNotFound, "no upstream is for this host and path")
		return
	}
	s.running.enter()
	defer s.running.leave()
	control := http.NewResponseController(w)
	out := &clientWriter{ResponseWriter: w, control: control, limit: s.o.ClientTimeout}
	c := begin(r, u)
	in, settled := r.WithContext(c), func() bool { return true }
	if in.Body != nil && in.Body != http.NoBody {
		c.body = &clientBody{ReadCloser: in.Body, control: control, limit: s.o.ClientTimeout}
		in.Body, out.body = c.body, c.body
		// Else the server reads the body to its end before it writes the answer.
		_ = control.EnableFullDuplex()
		settled = context.AfterFunc(c.Context, c.body.interrupt)
		defer c.body.leave(out)
	}
	u.counts.inFlight.Add(1)
	whole := false
	defer func() {
		u.counts.inFlight.Add(-1)
		settled()
		c.end()
		s.note(in, c, out, whole)
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				s.log.Error("the proxy's own fault", "upstream", u.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
			panic(http.ErrAbortHandler) // the server would log it where nobody looks
		}
	}()
	u.forward.ServeHTTP(out, in)
	whole = true
}

// unserved says how to refuse what is an HTTP request and cannot be sent on; 0 is
// not at all. net/http answers OPTIONS * itself, and hands on the beginning of
// HTTP/2 as a request.
func unserved(r *http.Request) (status int, text string) {
	printable := func(c rune) bool { return ' ' <= c && c <= '~' }
	switch {
	case r.ProtoMajor != 1:
		return http.StatusHTTPVersionNotSupported, "HTTP/1.1 is served to clients"
	case r.RequestURI == "*":
		return http.StatusBadRequest, "the target * is for OPTIONS alone"
	case strings.ContainsFunc(r.Header.Get("Upgrade"), func(c rune) bool { return !printable(c) }):
		return http.StatusBadRequest, "the Upgrade header names no protocol"
	}
	return 0, ""
}

// answered sees the headers of the upstream's answer before the client does.
func (s *Server) answered(resp *http.Response) error {
	c := callOf(resp.Request)
	if resp.StatusCode < 100 { // which cannot be passed on
		return fmt.Errorf("the upstream's status is no status: %03d", resp.StatusCode)
	}
	if !c.answer() {
		return errTimeout
	}
	c.status = resp.StatusCode
	c.result, _ = httpretry.ResultOf(resp)
	c.upstream.counts.answered(resp.StatusCode, time.Since(c.began))
	return nil
}

// failed answers where the upstream has not.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, err error) {
	c := callOf(r)
	c.failure = err
	var ended *engine.Error
	if errors.As(err, &ended) {
		c.result.Reason = ended.Reason
	}
	if c.left() {
		c.status = statusClientLeft
		c.upstream.counts.own(c.status)
		panic(http.ErrAbortHandler) // nobody is there to answer
	}
	status, text := statusOf(err, c)
	c.status = status
	c.upstream.counts.own(status)
	h := w.Header()
	if status == http.StatusTooManyRequests || ended != nil && ended.Wait > 0 {
		wait := time.Second
		if ended != nil {
			wait = max(wait, ended.Wait)
		}
		h.Set("Retry-After", strconv.FormatFloat(math.Ceil(wait.Seconds()), 'f', 0, 64))
	}
	var ours *clientError
	if errors.As(err, &ours) || c.stopped() || context.Cause(c.client) == errShutdown {
		h.Set("Connection", "close") // what is left of the request is of no use
	}
	refuse(w, status, text)
	s.complain(c, status)
}

// statusClientLeft is not sent: it stands in logs and counts for a client that
// did not wait, as nginx writes it.
const statusClientLeft = 499

// statusOf is the status and the text for a call that has no answer.
func statusOf(err error, c *call) (int, string) {
	var ours *clientError
	var ended *engine.Error
	var lost *httpretry.ResponseError
	var slow net.Error
	switch {
	case context.Cause(c.client) == errShutdown:
		return http.StatusServiceUnavailable, "the proxy is ending"
	case c.stopped():
		return http.StatusRequestTimeout, "the request's body stopped"
	case errors.As(err, &ours) && c.phase.Load() != late:
		return http.StatusBadRequest, "the request's body broke off"
	case errors.As(err, &ended) && ended.Reason == engine.ReasonDeadline && ended.Attempts == 0:
		return http.StatusTooManyRequests, "the upstream throttles, and the send limiter lets no more be sent in time"
	case errors.As(err, &lost) && lost.Status >= 400:
		return lost.Status, "the upstream answered so, and there was no time for another attempt"
	case c.phase.Load() == late || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout():
		return http.StatusGatewayTimeout, "the upstream did not answer in time"
	}
	return http.StatusBadGateway, "the upstream could not be asked, or did not answer"
}

// refuse answers with one line.
func refuse(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "reprise: %d: %s\n", status, text)
}

// note writes the line of a request.
func (s *Server) note(r *http.Request, c *call, w *clientWriter, whole bool) {
	level := slog.LevelDebug
	if s.o.AccessLog {
		level = slog.LevelInfo
	}
	if !s.log.Enabled(s.life, level) {
		return
	}
	status := c.status
	if status == 0 {
		status = w.status
	}
	attrs := []slog.Attr{
		slog.String("client", r.RemoteAddr), slog.String("method", short(r.Method)), slog.String("host", short(r.Host)),
		slog.String("path", short(r.URL.Path)), slog.String("upstream", c.upstream.Name), slog.Int("status", status),
		slog.Int("attempts", int(c.attempts.Load())), slog.Int64("bytes", w.bytes), slog.Duration("took", time.Since(c.began)),
	}
	if c.result.Reason != engine.ReasonNonRetryable {
		attrs = append(attrs, slog.String("reason", c.result.Reason.String()))
	}
	if c.failure != nil {
		attrs = append(attrs, slog.String("error", c.failure.Error()))
	} else if !whole {
		attrs = append(attrs, slog.Bool("cut", true)) // one side broke the answer off
	}
	s.log.LogAttrs(s.life, level, "request", attrs...)
}

// short keeps what a client sends from filling the log. The query stays out of
// it: it may hold secrets.
func short(text string) string {
	const most = 256
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// complain logs a failed call, for each upstream the first of a second, with the
// number of those left out since.
func (s *Server) complain(c *call, status int) {
	counts := c.upstream.counts
	now := time.Since(epoch)
	last := counts.complained.Load()
	if last != 0 && now-time.Duration(last) < time.Second || !counts.complained.CompareAndSwap(last, int64(now)) {
		counts.unsaid.Add(1)
		return
	}
	s.log.Warn("no answer from the upstream", "upstream", c.upstream.Name, "status", status, "attempts", c.attempts.Load(),
		"reason", c.result.Reason.String(), "error", c.failure.Error(), "alike_left_out", counts.unsaid.Swap(0))
}
