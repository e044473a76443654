package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// gatewayWord is the first argument of a process that is no measurement but what
// is measured.
const gatewayWord = "gateway"

// usagePath is where a gateway says what it has used so far.
const usagePath = "/-/usage"

// usage is what a process has used since it began.
type usage struct {
	CPUNanos int64  // of user and system
	Mallocs  uint64 // objects allocated
	Bytes    uint64 // bytes allocated
}

func ownUsage() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // fails for a wrong pointer only
	return usage{r.Utime.Nano() + r.Stime.Nano(), m.Mallocs, m.TotalAlloc}
}

// serveGateway serves on descriptor 3 until it is told to end.
func serveGateway(args []string) error {
	flags := flag.NewFlagSet(gatewayWord, flag.ContinueOnError)
	kind := flags.String("kind", "", "net-http, fasthttp, or upstream")
	door := flags.Bool("door", false, "put the door between handler and client")
	upstream := flags.String("upstream", "", "the upstream's host and port")
	if err := flags.Parse(args); err != nil {
		return err
	}
	listener, err := net.FileListener(os.NewFile(3, "socket"))
	if err != nil {
		return fmt.Errorf("descriptor 3 is no listening socket: %w", err)
	}
	e, err := engine.New()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	switch *kind {
	case "net-http":
		return serveHTTP(ctx, listener, *upstream, *door, e)
	case "fasthttp":
		return serveFasthttp(ctx, listener, *upstream, *door, e)
	case "upstream":
		body := make([]byte, 256)
		return serveFast(ctx, listener, func(ctx *fasthttp.RequestCtx) { ctx.Response.SetBodyRaw(body) })
	}
	return fmt.Errorf("no gateway of kind %q", *kind)
}

func serveHTTP(ctx context.Context, listener net.Listener, upstream string, door bool, e *engine.Engine) error {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConns, base.MaxIdleConnsPerHost = 0, 1024
	var transport http.RoundTripper = base
	if door {
		var err error
		if transport, err = httpretry.New(e, httpretry.WithBase(base)); err != nil {
			return err
		}
	}
	to := &url.URL{Scheme: "http", Host: upstream}
	silent := log.New(io.Discard, "", 0) // wrk hangs up on what is under way when its second is over
	forward := &httputil.ReverseProxy{Transport: transport, ErrorLog: silent, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	server := &http.Server{ErrorLog: silent, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == usagePath {
			_ = json.NewEncoder(w).Encode(ownUsage())
			return
		}
		forward.ServeHTTP(w, r)
	})}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func serveFasthttp(ctx context.Context, listener net.Listener, upstream string, door bool, e *engine.Engine) error {
	beneath := &fasthttp.HostClient{Addr: upstream, MaxConns: 1024, MaxIdemponentCallAttempts: 1}
	var client fasthttpretry.Doer = beneath
	if door {
		var err error
		if client, err = fasthttpretry.New(e, beneath); err != nil {
			return err
		}
	}
	return serveFast(ctx, listener, func(ctx *fasthttp.RequestCtx) {
		req := fasthttp.AcquireRequest()
		defer fasthttp.ReleaseRequest(req)
		ctx.Request.Header.CopyTo(&req.Header)
		req.Header.Del(fasthttp.HeaderConnection)
		req.SetRequestURIBytes(ctx.RequestURI())
		req.SetHost(upstream)
		req.SetBodyRaw(ctx.Request.Body())
		if err := client.Do(req, &ctx.Response); err != nil {
			ctx.Error(err.Error(), http.StatusBadGateway)
			return
		}
		ctx.Response.Header.Del(fasthttp.HeaderConnection)
	})
}

func serveFast(ctx context.Context, listener net.Listener, handle fasthttp.RequestHandler) error {
	server := &fasthttp.Server{NoDefaultServerHeader: true, Handler: func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == usagePath {
			_ = json.NewEncoder(ctx).Encode(ownUsage())
			return
		}
		handle(ctx)
	}}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil // the process ends, and its connections with it
	}
}
