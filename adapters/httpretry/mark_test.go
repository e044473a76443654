package httpretry_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// logging is a layer between two Transports, such as any program has some.
func logging(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) { return next.RoundTrip(req) })
}

// Peer faults 118 and 121: layers that retry do not multiply. Without marks three
// layers of three attempts send 27 requests; with them three, whatever lies
// between, and the uppermost layer is the one that retries.
func TestLayersDoNotMultiply(t *testing.T) {
	for _, row := range []struct {
		name  string
		marks [3]bool // of the layers, the uppermost first
		sent  int
	}{
		{"no marks", [3]bool{}, 27},
		{"the uppermost marks, the others hear of it by the context", [3]bool{true, false, false}, 3},
		{"the middle one marks", [3]bool{false, true, false}, 9},
		{"all", [3]bool{true, true, true}, 3},
	} {
		b := statuses(503)
		var rt http.RoundTripper = b
		var engines []*engine.Engine
		for i := 2; i >= 0; i-- {
			opts := []httpretry.Option{httpretry.WithBase(logging(rt))}
			if row.marks[i] {
				opts = append(opts, httpretry.WithRetryMark())
			}
			e := newEngine(t, engine.WithClock(noSleep{}))
			engines = append(engines, e)
			rt = newTransport(t, e, opts...)
		}
		resp, err := rt.RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		assert.Equal(t, 503, resp.StatusCode)
		assert.Len(t, b.sent, row.sent, row.name)
		if row.marks == [3]bool{true, true, true} {
			assert.Equal(t, 500, level(engines[0]), "a layer that does not retry pays nothing")
			assert.EqualValues(t, 3, engines[0].Stats().Stops[engine.ReasonNotReplayable])
			for i, s := range b.sent {
				assert.Equal(t, []string{fmt.Sprint(i + 1)}, s.header[httpretry.RetryMarkHeader], "the uppermost layer's attempt")
			}
		}
	}
}

// Peer fault 118: an engine.Do around a client is a layer too.
func TestRetryMarkAroundDo(t *testing.T) {
	b := statuses(503)
	client := httpretry.Client(newEngine(t, engine.WithClock(noSleep{})), httpretry.WithBase(b))
	attempt := 0
	err := engine.Run(t.Context(), newEngine(t, engine.WithClock(noSleep{})), func(ctx context.Context) error {
		attempt++
		ctx = httpretry.RetryMark(ctx, attempt)
		got, marked := httpretry.RetryMarked(ctx)
		assert.True(t, marked)
		assert.Equal(t, attempt, got)
		resp, err := client.Do(get(t, ctx))
		require.NoError(t, err)
		r, _ := httpretry.ResultOf(resp)
		assert.Equal(t, engine.ReasonNotReplayable, r.Reason)
		assert.EqualError(t, r.NotReplayable, fmt.Sprintf("reprise/httpretry: a layer above retries this request, which is its attempt %d (Retry-Attempt)", attempt))
		return &httpretry.ResponseError{Status: resp.StatusCode}
	})
	require.ErrorIs(t, err, engine.ErrMaxAttempts)
	assert.Len(t, b.sent, 3)
	assert.Empty(t, b.sent[0].header[httpretry.RetryMarkHeader], "no option, no header")

	_, marked := httpretry.RetryMarked(t.Context())
	assert.False(t, marked)
	for given, want := range map[int]int{-1: 1, 0: 1, 1: 1, math.MaxInt: math.MaxInt32} {
		got, _ := httpretry.RetryMarked(httpretry.RetryMark(t.Context(), given))
		assert.Equal(t, want, got)
	}
	both, _ := httpretry.RetryMarked(httpretry.LongPoll(httpretry.RetryMark(t.Context(), 2)))
	assert.Equal(t, 2, both, "the two marks of a context do not know of each other")
}

// A failure without a response: a marked call's is the base's, with its class,
// for the layer above to judge.
func TestMarkedFailure(t *testing.T) {
	e := newEngine(t)
	b := failing(dialRefused)
	_, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(get(t, httpretry.RetryMark(t.Context(), 1)))
	require.ErrorIs(t, err, engine.ErrNotReplayable)
	assert.Equal(t, classify.Transient, classify.Default.Error(err))
	assert.Len(t, b.sent, 1, "although it was never sent: that the layer above sees too")
	assert.Equal(t, 500, level(e))
}

// Which requests are marked: those that this layer may send again although they
// have arrived.
func TestWhatIsMarked(t *testing.T) {
	for _, row := range []struct {
		name   string
		method string
		opts   []httpretry.Option
		engine []engine.Option
		want   []string
	}{
		{"GET", "GET", nil, nil, []string{"1"}},
		{"POST", "POST", nil, nil, nil},
		{"POST that is idempotent", "POST", []httpretry.Option{httpretry.WithAnyMethod()}, nil, []string{"1"}},
		{"no retries", "GET", nil, []engine.Option{engine.WithMaxAttempts(1)}, nil},
	} {
		b := statuses(200)
		opts := append(row.opts, httpretry.WithBase(b), httpretry.WithRetryMark())
		req := request(t, t.Context(), row.method, nil)
		resp, err := newTransport(t, newEngine(t, row.engine...), opts...).RoundTrip(req)
		require.NoError(t, err)
		assert.Equal(t, row.want, b.sent[0].header[httpretry.RetryMarkHeader], row.name)
		assert.Empty(t, req.Header[httpretry.RetryMarkHeader], "the caller's request stays as it is")
		assert.Equal(t, row.want, b.sent[0].req.Header[httpretry.RetryMarkHeader], "the base may still be sending it")

		// What the caller makes of the response's request is a request of its own.
		assert.Empty(t, resp.Request.Header[httpretry.RetryMarkHeader], row.name)
		_, marked := httpretry.RetryMarked(resp.Request.Context())
		assert.False(t, marked, row.name)
	}
}

// Values that are no marks: the layer goes on as if there were none, and its own
// mark takes their place.
func TestOddMarks(t *testing.T) {
	for _, values := range [][]string{
		nil, {""}, {"0"}, {"01"}, {"-1"}, {"+1"}, {"1.0"}, {" 1"}, {"1 "}, {"1,2"}, {"1", "2"}, {"1", "1"}, {"x"}, {"١"},
		{"1000000000"}, {"99999999999999999999"}, {strings.Repeat("1", 1<<16)},
	} {
		b := statuses(503)
		req := get(t, t.Context())
		req.Header[httpretry.RetryMarkHeader] = values
		resp, err := newTransport(t, newEngine(t, engine.WithClock(noSleep{})), httpretry.WithBase(b), httpretry.WithRetryMark()).RoundTrip(req)
		require.NoError(t, err)
		if assert.Len(t, b.sent, 3, "%.20q", values) {
			assert.Equal(t, []string{"2"}, b.sent[1].header[httpretry.RetryMarkHeader])
		}
		assert.Equal(t, values, resp.Request.Header[httpretry.RetryMarkHeader])
	}
	for _, value := range []string{"1", "12", "999999999"} {
		b := statuses(503)
		req := get(t, t.Context())
		req.Header.Set(httpretry.RetryMarkHeader, value)
		_, err := newTransport(t, newEngine(t), httpretry.WithBase(b), httpretry.WithRetryMark()).RoundTrip(req)
		require.NoError(t, err)
		assert.Len(t, b.sent, 1, value)
		assert.Equal(t, value, b.sent[0].header.Get(httpretry.RetryMarkHeader), "it goes on as it came")

		b = statuses(503) // not asked to honour it
		_, err = newTransport(t, newEngine(t, engine.WithClock(noSleep{})), httpretry.WithBase(b)).RoundTrip(req)
		require.NoError(t, err)
		assert.Len(t, b.sent, 3, value)
	}
}

// Peer faults 118 and 121 over sockets: client, gateway and upstream, the gateway with
// a handler that calls on. The upstream is down; it hears three requests.
func TestLayersOverHTTP(t *testing.T) {
	var hits atomic.Int32
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.WriteHeader(503)
	}))
	defer upstream.Close()
	onward := httpretry.Client(newEngine(t, engine.WithClock(noSleep{})), httpretry.WithRetryMark())
	gateway := httptest.NewServer(httpretry.RetryMarkHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// It makes a request of its own: only the context tells of the mark.
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, upstream.URL, nil)
		if !assert.NoError(t, err) {
			return
		}
		resp, err := onward.Do(req)
		if !assert.NoError(t, err) {
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	})))
	defer gateway.Close()

	marking := httpretry.Client(newEngine(t, engine.WithClock(noSleep{})), httpretry.WithRetryMark())
	resp, err := marking.Get(gateway.URL)
	require.NoError(t, err)
	readAll(t, resp)
	assert.Equal(t, 503, resp.StatusCode)
	assert.EqualValues(t, 3, hits.Load())

	hits.Store(0)
	resp, err = http.Get(gateway.URL) // who does not retry sends no mark: the gateway does it
	require.NoError(t, err)
	readAll(t, resp)
	assert.EqualValues(t, 3, hits.Load())

	assert.PanicsWithValue(t, "reprise/httpretry: RetryMarkHandler needs a handler; this one is nil", func() { httpretry.RetryMarkHandler(nil) })
}

// FuzzRetryMark holds the header's parser against the plain rule.
func FuzzRetryMark(f *testing.F) {
	for _, seed := range []string{"1", "0", "999999999", "1000000000", "+1", "1,1", "007"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := 0
		h := httpretry.RetryMarkHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got, _ = httpretry.RetryMarked(r.Context())
		}))
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header[httpretry.RetryMarkHeader] = []string{value}
		h.ServeHTTP(nil, req)
		want := 0
		if _, err := fmt.Sscanf(value, "%d", &want); err != nil || want < 1 || fmt.Sprint(want) != value || want > 999999999 {
			want = 0
		}
		assert.Equal(t, want, got)
	})
}
