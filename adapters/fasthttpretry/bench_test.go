package fasthttpretry_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
)

// BenchmarkDo is one call that succeeds at once, bare and through the engine,
// over a connection in memory and over loopback: the cost of the door is the
// ratio of the two in one run. net=none has no server, so that what is left is the
// door alone.
func BenchmarkDo(b *testing.B) {
	handler := func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("hello") }
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(b, err)
	server := &fasthttp.Server{Handler: handler}
	go func() { _ = server.Serve(ln) }()
	b.Cleanup(func() { _ = ln.Close() })
	loopback := &fasthttp.HostClient{Addr: ln.Addr().String(), MaxIdemponentCallAttempts: 1}
	for _, net := range []struct {
		name string
		bare fasthttpretry.Doer
	}{
		{"none", new(silent)},
		{"memory", inMemory(b, handler)},
		{"loopback", loopback},
	} {
		for _, impl := range []struct {
			name string
			doer fasthttpretry.Doer
		}{
			{"bare", net.bare},
			{"fasthttpretry", newClient(b, newEngine(b), net.bare)},
		} {
			b.Run("net="+net.name+"/impl="+impl.name, func(b *testing.B) {
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
					req.SetRequestURI("http://service.test/")
					for pb.Next() {
						if err := impl.doer.Do(req, resp); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

// silent answers 200 without a server.
type silent struct{ fasthttp.HostClient }

func (*silent) Do(_ *fasthttp.Request, resp *fasthttp.Response) error {
	resp.SetStatusCode(fasthttp.StatusOK)
	return nil
}
