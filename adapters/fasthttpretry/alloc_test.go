//go:build !race

package fasthttpretry_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
)

// A success at the first attempt allocates nothing beside what fasthttp does,
// over a connection without sockets and with whatever bounds it.
func TestAllocations(t *testing.T) {
	bare := inMemory(t, func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("hello") })
	ours := newClient(t, newEngine(t), bare)
	bounded := newClient(t, newEngine(t), bare, fasthttpretry.WithAttemptTimeout(time.Minute))
	post := func(req *fasthttp.Request) { req.Header.SetMethod(fasthttp.MethodPost); req.SetBodyString("body") }
	for name, row := range map[string]struct {
		ours, bare func(req *fasthttp.Request, resp *fasthttp.Response) error
		set        func(*fasthttp.Request)
	}{
		"Do":   {ours.Do, bare.Do, nil},
		"POST": {ours.Do, bare.Do, post},
		"DoTimeout": {func(req *fasthttp.Request, resp *fasthttp.Response) error {
			return ours.DoTimeout(req, resp, time.Minute)
		}, func(req *fasthttp.Request, resp *fasthttp.Response) error {
			return bare.DoTimeout(req, resp, time.Minute)
		}, nil},
		"attempt timeout": {bounded.Do, func(req *fasthttp.Request, resp *fasthttp.Response) error {
			return bare.DoTimeout(req, resp, time.Minute)
		}, nil},
		"DoContext": {func(req *fasthttp.Request, resp *fasthttp.Response) error {
			_, err := ours.DoContext(t.Context(), req, resp)
			return err
		}, bare.Do, nil},
		"long poll":   {ours.Do, bare.Do, fasthttpretry.LongPoll},
		"no response": {func(req *fasthttp.Request, _ *fasthttp.Response) error { return ours.Do(req, nil) }, func(req *fasthttp.Request, _ *fasthttp.Response) error { return bare.Do(req, nil) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			req, resp := get(t, "http://service.test/")
			if row.set != nil {
				row.set(req)
			}
			count := func(do func(req *fasthttp.Request, resp *fasthttp.Response) error) float64 {
				return testing.AllocsPerRun(500, func() { require.NoError(t, do(req, resp)) })
			}
			count(row.bare) // connections and pools
			without := count(row.bare)
			assert.Equal(t, without, count(row.ours), "bare: %v", without)
		})
	}
}
