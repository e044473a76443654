package faulty

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
)

// start runs a server for the length of a test.
func start(t *testing.T, opts Options) (*Server, *http.Client) {
	t.Helper()
	s, err := Start(opts)
	require.NoError(t, err)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		require.NoError(t, s.Close())
	})
	return s, &http.Client{Transport: transport}
}

// post sends a request that the client does not repeat on its own.
func post(ctx context.Context, client *http.Client, url string) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return nil, "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

func only(k Kind) Options {
	var m Mix
	m[k] = 1
	return Options{Mix: m}
}

func TestServerListensOnLoopbackAlone(t *testing.T) {
	s, _ := start(t, Options{})
	u, err := url.Parse(s.URL())
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1", u.Hostname())
}

func TestServerAnswers(t *testing.T) {
	for _, row := range []struct {
		kind        Kind
		status      int
		contentType string
		body        string
	}{
		{OK, 200, "application/x-amz-json-1.0", `"Item"`},
		{Status500, 500, "application/json", `{"message":`},
		{Status503, 503, "text/html", "<html>"},
		{Throttle, 400, "application/x-amz-json-1.0", `"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"`},
	} {
		t.Run(row.kind.String(), func(t *testing.T) {
			s, client := start(t, only(row.kind))
			resp, body, err := post(t.Context(), client, s.URL())
			require.NoError(t, err)
			assert.Equal(t, row.status, resp.StatusCode)
			assert.Equal(t, row.contentType, resp.Header.Get("Content-Type"))
			assert.Contains(t, body, row.body)
			assert.Empty(t, resp.Header.Get("x-amz-retry-after"))
			assert.EqualValues(t, 1, s.Hits())
			assert.EqualValues(t, 1, s.Served()[row.kind])
		})
	}
}

// The faults must mean to the classifier what their names say.
func TestServerFaultsAreWhatTheySay(t *testing.T) {
	code := strings.SplitAfter(throughputExceeded, `"`)[3]
	code = classify.NormalizeCode(strings.TrimSuffix(code, `"`))
	assert.Equal(t, classify.Throttling, classify.Default.Response(400, code))
	assert.Equal(t, classify.Transient, classify.Default.Response(500, ""))
	assert.Equal(t, classify.Transient, classify.Default.Response(503, ""))
}

func TestServerRetryAfter(t *testing.T) {
	s, client := start(t, only(RetryAfter))
	statuses := map[int]int{}
	for range 64 {
		resp, _, err := post(t.Context(), client, s.URL())
		require.NoError(t, err)
		statuses[resp.StatusCode]++
		ms, err := strconv.Atoi(resp.Header.Get("x-amz-retry-after"))
		require.NoError(t, err, "R5: an integer")
		assert.GreaterOrEqual(t, ms, 50)
		assert.LessOrEqual(t, ms, 305)
	}
	assert.Len(t, statuses, 2, "both 500 and 503: %v", statuses)
	assert.Equal(t, 64, statuses[500]+statuses[503])
}

func TestServerReset(t *testing.T) {
	s, client := start(t, only(Reset))
	for range 3 {
		_, _, err := post(t.Context(), client, s.URL())
		require.ErrorIs(t, err, syscall.ECONNRESET)
	}
	assert.EqualValues(t, 3, s.Hits())
}

func TestServerCut(t *testing.T) {
	s, client := start(t, only(Cut))
	resp, body, err := post(t.Context(), client, s.URL())
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Equal(t, 200, resp.StatusCode)
	assert.EqualValues(t, cutLength, resp.ContentLength)
	assert.Less(t, len(body), cutLength)
}

func TestServerWaitsEndWithTheirClient(t *testing.T) {
	slow := only(Slow)
	slow.SlowDelay = time.Hour
	throttling := Options{Latency: time.Hour, Capacity: 1e-4}
	for _, row := range []struct {
		opts  Options
		calls int
	}{{slow, 1}, {Options{Latency: time.Hour}, 1}, {throttling, 2}} {
		s, client := start(t, row.opts)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, row.calls)
		for range row.calls {
			go func() {
				_, _, err := post(ctx, client, s.URL())
				failed <- err
			}()
		}
		awaitHits(t, s, uint64(row.calls))
		cancel()
		for range row.calls {
			require.ErrorIs(t, <-failed, context.Canceled)
		}
	}
}

func TestServerLatency(t *testing.T) {
	s, client := start(t, Options{Latency: 20 * time.Millisecond, Capacity: 1e-4})
	for _, status := range []int{200, 400} {
		began := time.Now()
		resp, _, err := post(t.Context(), client, s.URL())
		require.NoError(t, err)
		assert.Equal(t, status, resp.StatusCode)
		assert.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
	}
}

func TestServerSlowAnswersAtClose(t *testing.T) {
	opts := only(Slow)
	opts.SlowDelay = time.Hour
	s, err := Start(opts)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answered := make(chan error, 1)
	go func() {
		resp, _, err := post(t.Context(), client, s.URL())
		if err == nil && resp.StatusCode != 200 {
			err = errors.New(resp.Status)
		}
		answered <- err
	}()
	awaitHits(t, s, 1)
	require.NoError(t, s.Close())
	require.NoError(t, <-answered)
}

// awaitHits returns when the server has seen n requests.
func awaitHits(t *testing.T, s *Server, n uint64) {
	t.Helper()
	for s.Hits() < n {
		require.NoError(t, t.Context().Err())
		runtime.Gosched()
	}
}

func TestServerSlowIsOKWithoutDelay(t *testing.T) {
	s, client := start(t, only(Slow))
	resp, _, err := post(t.Context(), client, s.URL())
	require.NoError(t, err)
	assert.Equal(t, 200, resp.StatusCode)
}

func TestServerFollowsTheProgress(t *testing.T) {
	var progress atomic.Uint64 // hundredths
	o, err := ParseOutage("10%+10%")
	require.NoError(t, err)
	s, client := start(t, Options{Outage: o, Progress: func() float64 { return float64(progress.Load()) / 100 }})
	for at, want := range map[uint64]int{0: 200, 9: 200, 10: 503, 19: 503, 20: 200, 100: 200} {
		progress.Store(at)
		resp, _, err := post(t.Context(), client, s.URL())
		require.NoError(t, err)
		assert.Equal(t, want, resp.StatusCode, "at %d %%", at)
	}
}

func TestServerThrottlesAboveItsCapacity(t *testing.T) {
	// A request in three hours comes back: what is left after five is none.
	opts := only(Status503)
	opts.Capacity = 1e-4
	s, client := start(t, opts)
	for i := range 5 {
		resp, body, err := post(t.Context(), client, s.URL())
		require.NoError(t, err)
		if i == 0 {
			assert.Equal(t, 503, resp.StatusCode, "within the capacity the mix counts")
			continue
		}
		assert.Equal(t, 400, resp.StatusCode)
		assert.Contains(t, body, "ProvisionedThroughputExceededException")
	}
	resp, _, err := post(t.Context(), client, s.URL()+CalmPath)
	require.NoError(t, err)
	assert.Equal(t, 200, resp.StatusCode, "the calm path has no limit")
	assert.EqualValues(t, 5, s.Hits())
	assert.EqualValues(t, 4, s.Throttled())
	assert.EqualValues(t, 1, s.Served()[Status503])
}

func TestBurstIsASecondsWorth(t *testing.T) {
	for capacity, want := range map[float64]int{0.5: 1, 1: 1, 20: 20, 1e6: 1e6} {
		assert.Equal(t, want, Burst(capacity), capacity)
	}
	s, client := start(t, Options{Capacity: 20})
	statuses := map[int]int{}
	began := time.Now()
	for range 30 {
		resp, _, err := post(t.Context(), client, s.URL())
		require.NoError(t, err)
		statuses[resp.StatusCode]++
	}
	assert.GreaterOrEqual(t, statuses[200], 20)
	assert.LessOrEqual(t, statuses[200], 20+int(20*time.Since(began).Seconds())+1)
	assert.EqualValues(t, statuses[400], s.Throttled())
}

func TestServerCalmPathNeitherFailsNorCounts(t *testing.T) {
	s, client := start(t, only(Status500))
	resp, _, err := post(t.Context(), client, s.URL()+CalmPath)
	require.NoError(t, err)
	assert.Equal(t, 200, resp.StatusCode)
	assert.Zero(t, s.Hits())
}

func TestDrawsAreTheSeedsAlone(t *testing.T) {
	mix, err := ParseMix("500=10%,reset=20%,throttle=30%")
	require.NoError(t, err)
	draws := func(seed uint64) (kindsDrawn []Kind, counts [kinds]int) {
		s := &Server{opts: Options{Mix: mix, Seed: seed}}
		for n := range uint64(100_000) {
			k := s.draw(n)
			kindsDrawn = append(kindsDrawn, k)
			counts[k]++
		}
		return kindsDrawn, counts
	}
	first, counts := draws(7)
	again, _ := draws(7)
	other, _ := draws(8)
	assert.Equal(t, first, again)
	assert.NotEqual(t, first, other)
	for k, share := range map[Kind]float64{OK: 0.4, Status500: 0.1, Reset: 0.2, Throttle: 0.3} {
		// Five standard deviations of a binomial count are below 0.8 % of n.
		assert.InDelta(t, share, float64(counts[k])/100_000, 0.008, k.String())
	}
}
