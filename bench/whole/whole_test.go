package whole

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
)

// Each program does its work and sends one request for it.
func TestPrograms(t *testing.T) {
	server, sent := hello(t)
	for _, g := range gets {
		sent.Store(0)
		transport := connections()
		program, err := g.make(server, transport)
		require.NoError(t, err, g.impl)
		assert.NoError(t, program(t.Context()), g.impl)
		assert.EqualValues(t, 1, sent.Load(), g.impl)
		transport.CloseIdleConnections()
	}
	for _, g := range getItems {
		program, err := g.make(table{})
		require.NoError(t, err, g.impl)
		assert.NoError(t, program(t.Context()), g.impl)
	}
}

// flaky fails the first attempt of every call.
type flaky struct {
	http.RoundTripper
	sent *atomic.Int32
}

func (f flaky) RoundTrip(req *http.Request) (*http.Response, error) {
	if f.sent.Inc() == 1 {
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	}
	return f.RoundTripper.RoundTrip(req)
}

// pageOf answers without a network.
type pageOf string

func (p pageOf) RoundTrip(req *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	fmt.Fprint(recorder, string(p))
	response := recorder.Result()
	response.Request = req
	return response, nil
}

// Each retryer is in force: what it is compared for it can do.
func TestProgramsRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, g := range gets {
			f := flaky{pageOf(page), new(atomic.Int32)}
			program, err := g.make("http://127.0.0.1/", f)
			require.NoError(t, err, g.impl)
			retries(t, g.impl, g.impl != "net-http", program, f.sent)
		}
		for _, g := range getItems {
			f := flaky{table{}, new(atomic.Int32)}
			program, err := g.make(f)
			require.NoError(t, err, g.impl)
			retries(t, g.impl, g.impl != "no-retryer", program, f.sent)
		}
	})
}

func retries(t *testing.T, impl string, want bool, program Program, sent *atomic.Int32) {
	t.Helper()
	err := program(t.Context())
	if want {
		assert.NoError(t, err, impl)
		assert.EqualValues(t, 2, sent.Load(), impl)
	} else {
		assert.Error(t, err, impl)
		assert.EqualValues(t, 1, sent.Load(), impl)
	}
}

func TestFootprint(t *testing.T) {
	bytes, objects, err := footprint(1000, func(n int) (any, error) { return many(n, func() any { return new([64]byte) }), nil })
	require.NoError(t, err)
	assert.InDelta(t, 64+16, bytes, 8, "what it points to, and the interface")
	assert.InDelta(t, 1, objects, 0.2)
	for _, idle := range idlers {
		bytes, _, err := footprint(100, idle.make)
		require.NoError(t, err, idle.impl)
		assert.Greater(t, bytes, 0.0, idle.impl)
	}
}

// hello is a server on the loopback interface.
func hello(tb testing.TB) (url string, sent *atomic.Int32) {
	sent = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent.Inc()
		_, _ = strings.NewReader(page).WriteTo(w)
	}))
	tb.Cleanup(server.Close)
	return server.URL, sent
}

// on runs a program on so many processors.
func on(b *testing.B, procs int, program Program) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		ctx := context.Background()
		for pb.Next() {
			if err := program(ctx); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkWhole has the programs in another order each time, so that in many
// rounds none is always the first.
func BenchmarkWhole(b *testing.B) {
	type row struct {
		name    string
		procs   int
		program Program
	}
	var rows []row
	add := func(path, impl string, program Program, err error) {
		require.NoError(b, err)
		for _, procs := range []int{1, 2} {
			rows = append(rows, row{fmt.Sprintf("path=%s/impl=%s/procs=%d", path, impl, procs), procs, program})
		}
	}
	for _, g := range getItems {
		program, err := g.make(table{})
		add("getitem", g.impl, program, err)
	}
	server, _ := hello(b)
	for _, g := range gets {
		transport := connections()
		defer transport.CloseIdleConnections()
		program, err := g.make(server, transport)
		add("get", g.impl, program, err)
	}
	for _, i := range rand.Perm(len(rows)) {
		b.Run(rows[i].name, func(b *testing.B) { on(b, rows[i].procs, rows[i].program) })
	}
	for _, idle := range idlers {
		b.Run(fmt.Sprintf("path=idle/impl=%s/procs=1", idle.impl), func(b *testing.B) {
			for range b.N {
				bytes, objects, err := footprint(10_000, idle.make)
				require.NoError(b, err)
				b.ReportMetric(bytes, "heap-B/policy")
				b.ReportMetric(objects, "heap-objects/policy")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
