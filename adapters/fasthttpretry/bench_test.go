package fasthttpretry_test

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
)

// BenchmarkDo is one call that succeeds at once, bare and through the engine,
// over a connection in memory and over loopback. net=none has no server, so that
// what is left is the door alone.
func BenchmarkDo(b *testing.B) {
	for _, network := range networks(b) {
		for _, impl := range []struct {
			name string
			doer fasthttpretry.Doer
		}{
			{"bare", network.bare},
			{"fasthttpretry", newClient(b, newEngine(b), network.bare)},
		} {
			b.Run("net="+network.name+"/impl="+impl.name, func(b *testing.B) {
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

// BenchmarkThroughput is what the door costs a busy client: blocks of requests
// by four workers, bare and through the engine in turn, so that whatever else the
// machine does hits both. added-% is the median of what a block took longer than
// the bare ones before and after it.
func BenchmarkThroughput(b *testing.B) {
	const workers, block = 4, 500 // requests of each
	for _, network := range networks(b)[1:] {
		b.Run("net="+network.name, func(b *testing.B) {
			ours := newClient(b, newEngine(b), network.bare)
			run := func(doer fasthttpretry.Doer) time.Duration {
				start := time.Now()
				var running sync.WaitGroup
				for range workers {
					running.Go(func() {
						req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
						defer fasthttp.ReleaseRequest(req)
						defer fasthttp.ReleaseResponse(resp)
						req.SetRequestURI("http://service.test/")
						for range block {
							if err := doer.Do(req, resp); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				running.Wait()
				return time.Since(start)
			}
			run(network.bare)
			var added []float64
			before := run(network.bare)
			for b.Loop() {
				with := run(ours)
				after := run(network.bare)
				added = append(added, 100*(2*with.Seconds()/(before+after).Seconds()-1))
				before = after
			}
			slices.Sort(added)
			b.ReportMetric(added[len(added)/2], "added-%")
			b.ReportMetric(workers*block/before.Seconds(), "bare-req/s")
		})
	}
}

type network struct {
	name string
	bare fasthttpretry.Doer
}

func networks(b *testing.B) []network {
	handler := func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("hello") }
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(b, err)
	server := &fasthttp.Server{Handler: handler}
	go func() { _ = server.Serve(ln) }()
	b.Cleanup(func() { _ = ln.Close() })
	loopback := &fasthttp.HostClient{Addr: ln.Addr().String(), MaxIdemponentCallAttempts: 1}
	b.Cleanup(loopback.CloseIdleConnections)
	return []network{{"none", &fasthttp.HostClient{Addr: "service.test", MaxIdemponentCallAttempts: 1, Transport: silent{}}}, {"memory", inMemory(b, handler)}, {"loopback", loopback}}
}

// silent is a transport that answers 200 without a server.
type silent struct{}

func (silent) RoundTrip(_ *fasthttp.HostClient, _ *fasthttp.Request, resp *fasthttp.Response) (bool, error) {
	resp.SetStatusCode(fasthttp.StatusOK)
	return false, nil
}
