// Command fasthttp shows a fasthttp client behind the retry engine, and a proxy on
// that client, before a server on 127.0.0.1 that fails on purpose. It ends by itself
// within seconds.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/engine"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	upstream := &faulty{}
	addr, stop, err := serve(upstream.handle)
	if err != nil {
		return err
	}
	defer stop()

	e, err := engine.New()
	if err != nil {
		return err
	}
	// MaxIdemponentCallAttempts turns off fasthttp's own five attempts.
	client, err := fasthttpretry.New(e, &fasthttp.Client{MaxIdemponentCallAttempts: 1})
	if err != nil {
		return err
	}

	for _, step := range []struct {
		name  string
		every int64
		calls int
	}{{"one request in three fails", 3, 20}, {"all fail", 1, 30}} {
		upstream.begin(step.every)
		ok, reasons := 0, map[engine.Reason]int{}
		for range step.calls {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			req.SetRequestURI("http://" + addr + "/")
			result, err := client.DoContext(ctx, req, resp) // or Do, DoTimeout, DoDeadline
			fasthttp.ReleaseRequest(req)
			fasthttp.ReleaseResponse(resp)
			if err != nil {
				return err
			}
			if result.Succeeded {
				ok++
			} else {
				reasons[result.Reason]++
			}
		}
		fmt.Fprintf(out, "%s: %d of %d calls succeeded, %d requests sent, %d tokens left; %d used up their attempts, %d were refused a retry\n",
			step.name, ok, step.calls, upstream.requests.Load(), e.Stats().QuotaLevel, reasons[engine.ReasonMaxAttempts], reasons[engine.ReasonQuota])
	}

	// A proxy has an engine of its own, or one for each upstream: WithEngineFor.
	own, err := engine.New()
	if err != nil {
		return err
	}
	beneath := &fasthttp.Client{MaxIdemponentCallAttempts: 1, DisablePathNormalizing: true, NoDefaultUserAgentHeader: true}
	forward, err := fasthttpretry.New(own, beneath)
	if err != nil {
		return err
	}
	handler, err := fasthttpretry.NewProxy(forward, "http://"+addr, 30*time.Second)
	if err != nil {
		return err
	}
	proxy, stopProxy, err := serve(handler)
	if err != nil {
		return err
	}
	defer stopProxy()
	upstream.begin(2)
	ok := 0
	for range 10 {
		status, _, err := fasthttp.Get(nil, "http://"+proxy+"/")
		if err != nil {
			return err
		}
		if status == fasthttp.StatusOK {
			ok++
		}
	}
	fmt.Fprintf(out, "through the proxy, one in two fails: %d of 10 calls succeeded, %d requests sent, %d tokens left\n",
		ok, upstream.requests.Load(), own.Stats().QuotaLevel)
	return nil
}

// faulty answers 503 to every so many requests.
type faulty struct{ requests, every atomic.Int64 }

func (f *faulty) begin(every int64) {
	f.requests.Store(0)
	f.every.Store(every)
}

func (f *faulty) handle(ctx *fasthttp.RequestCtx) {
	if f.requests.Add(1)%f.every.Load() == 0 {
		ctx.Error("busy", fasthttp.StatusServiceUnavailable)
	}
}

// serve serves on a free port of 127.0.0.1.
func serve(handler fasthttp.RequestHandler) (addr string, stop func(), err error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &fasthttp.Server{Handler: handler}
	go func() { _ = server.Serve(ln) }()
	return ln.Addr().String(), func() { _ = ln.Close() }, nil
}
