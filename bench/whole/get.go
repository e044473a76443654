package whole

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

const (
	attempts = 3
	baseWait = 50 * time.Millisecond
	maxWait  = 20 * time.Second
)

// gets are the programs that get a page, by the retryer in them. transport is the
// client's connections: each program has its own, of the same kind.
var gets = []struct {
	impl string
	make func(url string, transport http.RoundTripper) (Program, error)
}{
	{"net-http", func(url string, transport http.RoundTripper) (Program, error) {
		return get(url, transport), nil
	}},
	{"retryablehttp", func(url string, transport http.RoundTripper) (Program, error) {
		client := retryablehttp.NewClient()
		client.HTTPClient = &http.Client{Transport: transport}
		client.RetryMax, client.RetryWaitMin, client.RetryWaitMax = attempts-1, baseWait, maxWait
		client.Logger = nil
		return func(ctx context.Context) error {
			req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			return read(client.Do(req))
		}, nil
	}},
	{"failsafe-go", func(url string, transport http.RoundTripper) (Program, error) {
		policy := failsafehttp.NewRetryPolicyBuilder().WithMaxAttempts(attempts).WithBackoff(baseWait, maxWait).Build()
		return get(url, failsafehttp.NewRoundTripper(transport, policy)), nil
	}},
	{"reprise", func(url string, transport http.RoundTripper) (Program, error) {
		e, err := engine.New()
		if err != nil {
			return nil, err
		}
		rt, err := httpretry.New(e, httpretry.WithBase(transport))
		if err != nil {
			return nil, err
		}
		return get(url, rt), nil
	}},
}

func get(url string, rt http.RoundTripper) Program {
	client := &http.Client{Transport: rt}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		return read(client.Do(req))
	}
}

const page = "Hello.\n"

func read(response *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK || string(body) != page:
		return fmt.Errorf("answer %d %q: want 200 %q", response.StatusCode, body, page)
	}
	return nil
}

// connections are those of one client.
func connections() *http.Transport {
	return &http.Transport{MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, DisableCompression: true}
}
