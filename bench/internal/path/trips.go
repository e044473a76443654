package path

import (
	"io"
	"net/http"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/bench/internal/peer"
)

// stub is a server that answers at once.
type stub struct{}

// RoundTrip answers 200, and once in a while a retrier would like it to: never.
func (stub) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}, nil
}

// gets is a GET through a client, whose request is made anew each time, as it
// must be.
func gets(impl string, client func() func(url string) (*http.Response, error)) Side {
	return side(impl, func() measure.Loop {
		get := client()
		return func(n int) {
			for range n {
				resp, err := get("http://127.0.0.1/")
				if err != nil {
					panic(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		}
	})
}

func trips() []Path {
	return []Path{{
		Name: "http-get",
		What: "A GET through an http.Client whose transport answers at once, 200, with no network in between. bare is the client alone.",
		Sides: []Side{
			gets("bare", func() func(string) (*http.Response, error) {
				return (&http.Client{Transport: stub{}}).Get
			}),
			gets("reprise", func() func(string) (*http.Response, error) {
				return httpretry.Client(peer.Engine(), httpretry.WithBase(stub{})).Get
			}),
			// No logger: it would print each request.
			gets("retryablehttp", func() func(string) (*http.Response, error) {
				c := retryablehttp.NewClient()
				c.HTTPClient, c.Logger, c.RetryMax = &http.Client{Transport: stub{}}, nil, peer.Attempts-1
				return c.Get
			}),
			// Policy and executor made once, no listener; its own retry policy for HTTP.
			gets("failsafe", func() func(string) (*http.Response, error) {
				policy := failsafehttp.NewRetryPolicyBuilder().WithMaxAttempts(peer.Attempts).Build()
				x := failsafe.With[*http.Response](policy)
				return (&http.Client{Transport: failsafehttp.NewRoundTripperWithExecutor(stub{}, x)}).Get
			}),
		},
	}}
}
