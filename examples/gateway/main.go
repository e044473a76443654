// Command gateway shows a reverse proxy on net/http with retries: a quota for each
// upstream, so that the one that is down takes nobody else's. The upstreams are on
// 127.0.0.1 and fail on purpose. It ends by itself within seconds.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	orders := serve("/orders", "hangs up on one in four", hangUp)
	defer orders.Close()
	stock := serve("/stock", "is down", down)
	defer stock.Close()
	search := serve("/search", "stalls once", stall)
	defer search.Close()

	// What all upstreams' engines are like, and how many there may be at once.
	template, err := engine.New()
	if err != nil {
		return err
	}
	upstreams, err := engine.NewGroup[string](template, 1000)
	if err != nil {
		return err
	}
	// Each attempt has its time. A client that marks its requests retries them itself,
	// so they are sent once. And net/http sends nothing again behind the quota's back.
	base := httpretry.NoResend(&http.Transport{MaxIdleConnsPerHost: 64})
	transport, err := httpretry.New(template, httpretry.WithEngineByHost(upstreams),
		httpretry.WithAttemptTimeout(2*time.Second), httpretry.WithRetryMark(), httpretry.WithBase(base))
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	routes := http.NewServeMux()
	for _, u := range []*faulty{orders, stock, search} {
		target, err := url.Parse(u.URL)
		if err != nil {
			return err
		}
		routes.Handle(u.path, &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport: transport,
		})
	}
	gateway := httptest.NewServer(routes)
	defer gateway.Close()

	for _, step := range []struct {
		u     *faulty
		calls int
	}{{orders, 20}, {stock, 30}, {search, 3}} {
		u := step.u
		ok := 0
		for range step.calls {
			if status, err := get(http.DefaultClient, gateway.URL+u.path); err != nil {
				return err
			} else if status == http.StatusOK {
				ok++
			}
		}
		fmt.Fprintf(out, "%s %s: %d of %d calls succeeded, %d requests sent, %d tokens left\n",
			u.path, u.says, ok, step.calls, u.requests.Load(), upstreams.For(u.host).Stats().QuotaLevel)
	}

	// A client that retries too: with the mark three requests come, and not nine.
	e, err := engine.New()
	if err != nil {
		return err
	}
	stock.requests.Store(0)
	status, err := get(httpretry.Client(e, httpretry.WithRetryMark()), gateway.URL+stock.path)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "a client that retries by itself gets %d after %d requests\n", status, stock.requests.Load())
	return nil
}

func get(client *http.Client, url string) (status int, err error) {
	resp, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Body.Close()
}

// faulty is an upstream that fails in its own way: how, to the n-th request.
type faulty struct {
	*httptest.Server
	path, host, says string
	requests         atomic.Int32
}

func serve(path, says string, how func(w http.ResponseWriter, r *http.Request, n int32)) *faulty {
	u := &faulty{path: path, says: says}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		how(w, r, u.requests.Add(1))
	}))
	u.host = u.Listener.Addr().String()
	return u
}

// hangUp drops the connection of one request in four without an answer.
func hangUp(_ http.ResponseWriter, _ *http.Request, n int32) {
	if n%4 == 0 {
		panic(http.ErrAbortHandler)
	}
}

func down(w http.ResponseWriter, _ *http.Request, _ int32) {
	w.WriteHeader(http.StatusServiceUnavailable)
}

// stall answers all requests but the first.
func stall(_ http.ResponseWriter, r *http.Request, n int32) {
	if n == 1 {
		<-r.Context().Done()
	}
}
