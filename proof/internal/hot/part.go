package hot

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	uber "go.uber.org/atomic"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/atomicbucket"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
	own "github.com/reprise-go/reprise/internal/atomic"
)

// parts are what calls are made of, and the door of net/http.
func parts() []Path {
	return []Path{
		{Name: "classify/error=code", Over: Empty, Make: classifying(apiError{})},
		{Name: "classify/error=status", Over: Empty, Make: classifying(statusError{})},
		{Name: "classify/error=url", Over: Empty, Make: classifying(reset)},
		{Name: "classify/error=plain", Over: Empty, Make: classifying(errPlain)},
		{Name: "classify/response=503", Over: Empty, Make: func() func(int) {
			return func(n int) {
				var class classify.Class
				for range n {
					class = classify.Default.Response(503, "")
				}
				runtime.KeepAlive(class)
			}
		}},
		{Name: "draw", Over: Empty, Make: func() func(int) {
			source := new(fastbackoff.Shards)
			return func(n int) {
				var draw uint64
				for range n {
					draw = source.Uint64()
				}
				runtime.KeepAlive(draw)
			}
		}},
		{Name: "delay", Over: Empty, Make: func() func(int) {
			schedule := fastbackoff.Default()
			return func(n int) {
				var delay time.Duration
				for i := range n {
					delay = schedule.Delay(fastbackoff.Transient, i&15, uint64(i)<<48)
				}
				runtime.KeepAlive(delay)
			}
		}},
		{Name: "bucket-credit/level=full", Over: Empty, Make: func() func(int) {
			b := made(atomicbucket.New(500))
			return func(n int) {
				for range n {
					b.Give(1)
				}
			}
		}},
		{Name: "bucket-take-give", Over: Empty, Make: func() func(int) {
			b := made(atomicbucket.New(500))
			return func(n int) {
				ok := false
				for range n {
					ok = b.TryTake(14)
					b.Give(14)
				}
				runtime.KeepAlive(ok)
			}
		}},
		{Name: "bucket-take/level=empty", Over: Empty, Make: func() func(int) {
			b := made(atomicbucket.New(500))
			b.TryTake(500)
			return func(n int) {
				ok := false
				for range n {
					ok = b.TryTake(14)
				}
				runtime.KeepAlive(ok)
			}
		}},
		{Name: "group-look-up", Over: Empty, Make: lookingUp},
		{Name: "http-success", Over: BareHTTP, Make: overHTTP(nil)},
		// internal/atomic's words are go.uber.org/atomic's, which are sync/atomic's.
		{Name: "word/of=sync", Over: Empty, Make: func() func(int) {
			var w atomic.Uint64
			return func(n int) {
				ok := false
				for range n {
					ok = w.CompareAndSwap(w.Load(), 1)
				}
				runtime.KeepAlive(ok)
			}
		}},
		{Name: "word/of=uber", Over: Empty, Like: "word/of=sync", Make: func() func(int) {
			var w uber.Uint64
			return func(n int) {
				ok := false
				for range n {
					ok = w.CompareAndSwap(w.Load(), 1)
				}
				runtime.KeepAlive(ok)
			}
		}},
		{Name: "word/of=core", Over: Empty, Like: "word/of=sync", Make: func() func(int) {
			var w own.Uint64
			return func(n int) {
				ok := false
				for range n {
					ok = w.CompareAndSwap(w.Load(), 1)
				}
				runtime.KeepAlive(ok)
			}
		}},
	}
}

func classifying(err error) func() func(int) {
	return func() func(int) {
		return func(n int) {
			var class classify.Class
			for range n {
				class = classify.Default.Error(err)
			}
			runtime.KeepAlive(class)
		}
	}
}

func lookingUp() func(int) {
	g := made(engine.NewGroup[string](made(engine.New()), 1000))
	for _, key := range []string{"10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080"} {
		g.For(key)
	}
	return func(n int) {
		var e *engine.Engine
		for range n {
			e = g.For("10.0.0.2:8080")
		}
		runtime.KeepAlive(e)
	}
}

// base answers at once.
type base struct{}

var answer = &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}

func (base) RoundTrip(*http.Request) (*http.Response, error) { return answer, nil }

// overHTTP is requests through a RoundTripper; nil is httpretry's over base.
func overHTTP(rt http.RoundTripper) func() func(int) {
	return func() func(int) {
		if rt == nil {
			rt = made(httpretry.New(made(engine.New()), httpretry.WithBase(base{})))
		}
		request := made(http.NewRequest(http.MethodGet, "http://127.0.0.1/", nil))
		return func(n int) {
			for range n {
				if _, err := rt.RoundTrip(request); err != nil {
					panic(err)
				}
			}
		}
	}
}
