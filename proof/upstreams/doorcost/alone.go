package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// aloneCalls are the calls of one round of a door alone, and aloneBlocks how many
// blocks of four rounds there are.
const (
	aloneCalls  = 20_000
	aloneBlocks = 12
)

// instant answers at once: what is left is the door.
type instant struct{ response *http.Response }

func (i instant) RoundTrip(*http.Request) (*http.Response, error) { return i.response, nil }

// Do leaves a response as it is, which is a 200.
func (instant) Do(*fasthttp.Request, *fasthttp.Response) error { return nil }

// DoTimeout does so too.
func (instant) DoTimeout(*fasthttp.Request, *fasthttp.Response, time.Duration) error { return nil }

// DoDeadline does so too.
func (instant) DoDeadline(*fasthttp.Request, *fasthttp.Response, time.Time) error { return nil }

// alone times a door without a network: nanoseconds of a call of the client
// beneath, and with the door. It goes into cpu of the rounds.
func alone(kind string) (all []block, err error) {
	e, err := engine.New()
	if err != nil {
		return nil, err
	}
	var bare, door func() error
	switch kind {
	case "net-http":
		request, err := http.NewRequest(http.MethodGet, "http://127.0.0.1/x", nil)
		if err != nil {
			return nil, err
		}
		var base http.RoundTripper = instant{&http.Response{StatusCode: http.StatusOK, Body: http.NoBody}}
		transport, err := httpretry.New(e, httpretry.WithBase(base))
		if err != nil {
			return nil, err
		}
		bare = func() error { _, err := base.RoundTrip(request); return err }
		door = func() error { _, err := transport.RoundTrip(request); return err }
	case "fasthttp":
		request, response := &fasthttp.Request{}, &fasthttp.Response{}
		request.SetRequestURI("http://127.0.0.1/x")
		var base fasthttpretry.Doer = instant{}
		client, err := fasthttpretry.New(e, base)
		if err != nil {
			return nil, err
		}
		bare = func() error { return base.Do(request, response) }
		door = func() error { return client.Do(request, response) }
	default:
		return nil, fmt.Errorf("no door %q", kind)
	}
	time := func(call func() error) (r round, err error) {
		begin := time.Now()
		for range aloneCalls {
			if err := call(); err != nil {
				return r, err
			}
		}
		return round{cpu: float64(time.Since(begin)) / aloneCalls}, nil
	}
	for range aloneBlocks {
		var b block
		for _, one := range []struct {
			call func() error
			to   *round
		}{{bare, &b.bare[0]}, {door, &b.door[0]}, {door, &b.door[1]}, {bare, &b.bare[1]}} {
			if *one.to, err = time(one.call); err != nil {
				return nil, err
			}
		}
		all = append(all, b)
	}
	return all, nil
}
