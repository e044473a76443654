package caddyretry

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// Placeholders that a call sets, for log_append, header and handle_response.
const (
	attemptsPlaceholder = "http.reverse_proxy.retry.attempts"
	reasonPlaceholder   = "http.reverse_proxy.retry.reason"
	classPlaceholder    = "http.reverse_proxy.retry.class"
	codePlaceholder     = "http.reverse_proxy.retry.code"

	roundsPlaceholder = "http.reverse_proxy.retry.rounds" // ours: what rounds says
)

// report is how a call ended.
type report struct {
	attempts int
	reason   string // "" for a success
	class    string // of the last failure, likewise
	code     string // of the last answer
}

// reportOf reads it from what httpretry has returned.
func reportOf(resp *http.Response, err error) report {
	var ended *engine.Error
	switch {
	case errors.As(err, &ended):
		return report{attempts: ended.Attempts, reason: ended.Reason.String(), class: ended.Class.String()}
	case err == error(errTimeout): // the answer came when nobody waited any longer
		return report{attempts: 1, reason: engine.ReasonDeadline.String(), class: "transient"}
	case err != nil:
		return report{attempts: 1, reason: engine.ReasonNonRetryable.String(), class: "non_retryable"}
	}
	r, told := httpretry.ResultOf(resp)
	switch {
	case !told && resp.StatusCode >= http.StatusBadRequest:
		return report{attempts: 1, reason: engine.ReasonNonRetryable.String(), class: "non_retryable"}
	case !told:
		return report{attempts: 1}
	case r.Succeeded:
		return report{attempts: r.Attempts}
	}
	return report{attempts: r.Attempts, reason: r.Reason.String(), class: r.Class.String(), code: r.Code}
}

// show sets the placeholders, and where a retry was made or wanted the fields of
// the access log.
func (r report) show(repl *caddy.Replacer, ctx context.Context) {
	if repl != nil {
		repl.Set(attemptsPlaceholder, r.attempts)
		repl.Set(reasonPlaceholder, r.reason)
		repl.Set(classPlaceholder, r.class)
		repl.Set(codePlaceholder, r.code)
	}
	if r.attempts == 1 && (r.reason == "" || r.reason == engine.ReasonNonRetryable.String()) {
		return
	}
	if fields, ok := ctx.Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields); ok {
		fields.Set(zap.Int("retry_attempts", r.attempts))
		fields.Set(zap.String("retry_reason", r.reason))
		fields.Set(zap.String("retry_class", r.class))
	}
}

// rounds is what became of a request so far where reverse_proxy sends again what
// the transport has given up. The pointer to the URL is what such rounds have in
// common, and no two requests.
type rounds struct {
	url      *url.URL
	attempts int
}

// roundsOf returns the rounds before this one; zero if it is the first.
func roundsOf(repl *caddy.Replacer, req *http.Request) rounds {
	if repl != nil {
		if v, ok := repl.Get(roundsPlaceholder); ok {
			if r, ok := v.(rounds); ok && r.url == req.URL {
				return r
			}
		}
	}
	return rounds{}
}

// keep notes a round, for the next.
func (rounds) keep(repl *caddy.Replacer, req *http.Request, attempts int) {
	if repl != nil {
		repl.Set(roundsPlaceholder, rounds{req.URL, attempts})
	}
}
