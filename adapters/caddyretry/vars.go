package caddyretry

import (
	"context"
	"maps"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// apart gives each attempt variables of its own: Caddy's transport writes to the
// request's, which is one map without a lock, and hedges run side by side.
type apart struct{ base http.RoundTripper }

func (a apart) RoundTrip(req *http.Request) (*http.Response, error) {
	return a.base.RoundTrip(req.WithContext(withVars(req.Context())))
}

// withVars returns a context with a copy of Caddy's variables. A call whose
// attempts copy has a copy itself, made while nobody else is about: the handlers'
// map may be written to while the loser of two attempts still begins.
func withVars(ctx context.Context) context.Context {
	vars, _ := ctx.Value(caddyhttp.VarsCtxKey).(map[string]any)
	return context.WithValue(ctx, caddyhttp.VarsCtxKey, maps.Clone(vars))
}
