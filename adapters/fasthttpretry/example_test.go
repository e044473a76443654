package fasthttpretry_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/engine"
)

// serve answers 503 to the first n requests; its address is a loopback one.
func serve(n int, then fasthttp.RequestHandler) (addr string, stop func()) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		if n--; n >= 0 {
			ctx.Error("busy", fasthttp.StatusServiceUnavailable)
			return
		}
		then(ctx)
	}}
	go func() { _ = server.Serve(ln) }()
	return ln.Addr().String(), func() { _ = ln.Close() }
}

func hello(ctx *fasthttp.RequestCtx) { fmt.Fprintf(ctx, "hello %s", ctx.Path()) }

func Example() {
	addr, stop := serve(2, hello)
	defer stop()

	e, err := engine.New()
	if err != nil {
		panic(err)
	}
	client, err := fasthttpretry.New(e, &fasthttp.Client{MaxIdemponentCallAttempts: 1})
	if err != nil {
		panic(err)
	}

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://" + addr + "/world")
	if err := client.DoTimeout(req, resp, 10*time.Second); err != nil {
		panic(err)
	}
	fmt.Println(resp.StatusCode(), string(resp.Body()))
	// Output: 200 hello /world
}

// The upstream's own answer comes back with the reason why it is the last.
func ExampleClient_DoContext() {
	addr, stop := serve(5, hello)
	defer stop()
	e, err := engine.New()
	if err != nil {
		panic(err)
	}
	client, err := fasthttpretry.New(e, &fasthttp.HostClient{Addr: addr, MaxIdemponentCallAttempts: 1},
		fasthttpretry.WithAttemptTimeout(5*time.Second), fasthttpretry.WithStandardRetryAfter())
	if err != nil {
		panic(err)
	}

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://" + addr + "/")
	result, err := client.DoContext(context.Background(), req, resp)
	fmt.Println(resp.StatusCode(), err, result.Attempts, result.Reason, result.Class)
	// Output: 503 <nil> 3 max_attempts transient
}

// fasthttp's default client would send again by itself.
func ExampleNew() {
	e, err := engine.New()
	if err != nil {
		panic(err)
	}
	_, err = fasthttpretry.New(e, &fasthttp.Client{})
	fmt.Println(err)
	// Output: reprise/fasthttpretry: New is given a *fasthttp.Client whose MaxIdemponentCallAttempts is 0, which means 5: it would send again by itself, and retries under retries multiply; want 1
}

func ExampleNewProxy() {
	upstream, stop := serve(1, hello)
	defer stop()
	e, err := engine.New()
	if err != nil {
		panic(err)
	}
	client, err := fasthttpretry.New(e, &fasthttp.Client{
		MaxIdemponentCallAttempts: 1,
		DisablePathNormalizing:    true, // paths go on as they came
		NoDefaultUserAgentHeader:  true,
	})
	if err != nil {
		panic(err)
	}
	handler, err := fasthttpretry.NewProxy(client, "http://"+upstream+"/base", 30*time.Second)
	if err != nil {
		panic(err)
	}
	proxy, stop := serve(0, handler)
	defer stop()

	status, body, err := fasthttp.Get(nil, "http://"+proxy+"/world")
	fmt.Println(status, string(body), err)
	// Output: 200 hello /base/world <nil>
}

// A client for a service whose every request is a POST and idempotent.
func ExampleWithAnyMethod() {
	addr, stop := serve(1, hello)
	defer stop()
	e, err := engine.New(engine.WithService("DynamoDB"))
	if err != nil {
		panic(err)
	}
	client, err := fasthttpretry.New(e, &fasthttp.Client{MaxIdemponentCallAttempts: 1},
		fasthttpretry.WithAnyMethod(), fasthttpretry.WithAWSHeaders())
	if err != nil {
		panic(err)
	}
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://" + addr + "/")
	req.Header.SetMethod(fasthttp.MethodPost)
	fmt.Println(client.Do(req, resp), resp.StatusCode())
	// Output: <nil> 200
}

// An engine for each upstream, so that one that fails takes no other's retries.
func ExampleWithEngineFor() {
	template, err := engine.New(engine.WithMaxAttempts(5))
	if err != nil {
		panic(err)
	}
	upstreams, err := engine.NewGroup[string](template, 1000)
	if err != nil {
		panic(err)
	}
	client, err := fasthttpretry.New(template, &fasthttp.Client{MaxIdemponentCallAttempts: 1},
		fasthttpretry.WithEngineFor(func(req *fasthttp.Request) *engine.Engine {
			return upstreams.For(string(req.Host()))
		}))
	if err != nil {
		panic(err)
	}
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://127.0.0.1:1/") // nobody listens there
	result, _ := client.DoContext(context.Background(), req, resp)
	fmt.Println(result.Attempts, upstreams.For("127.0.0.1:1").Stats().QuotaLevel, upstreams.For("127.0.0.1:2").Stats().QuotaLevel)
	// Output: 5 444 500
}

func ExampleLongPoll() {
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	req.SetRequestURI("http://127.0.0.1:1/poll?wait=20s")
	fasthttpretry.LongPoll(req) // if the quota refuses its retry, the backoff is waited all the same
}
