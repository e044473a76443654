package drive

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
	"github.com/reprise-go/reprise/engine"
)

// quickMix has no faults with long waits in it.
const quickMix = "500=2%,503=2%,reset=1%,cut=1%"

// quick is a run of a second or less.
func quick(t *testing.T, faults, outage string) Config {
	t.Helper()
	c := Config{Calls: 2000, Workers: 64, Deadline: 5 * time.Second, Seed: 1}
	if testing.Short() {
		c.Baseline = 100
	}
	var err error
	c.Faults, err = faulty.ParseMix(faults)
	require.NoError(t, err)
	c.Outage, err = faulty.ParseOutage(outage)
	require.NoError(t, err)
	return c
}

func runDrive(t *testing.T, c Config) (record.Result, error) {
	t.Helper()
	require.NoError(t, c.Check())
	d, err := Prepare(t.Context(), c)
	require.NoError(t, err)
	res, err := d.Run(t.Context(), nil)
	require.NoError(t, d.Close())
	return res, err
}

// assertAddsUp holds a result against what must be so whatever happened.
func assertAddsUp(t *testing.T, res record.Result) {
	t.Helper()
	assert.Equal(t, res.Calls, res.Successes+res.Stops.Total, "each call ends once")
	assert.Equal(t, res.Successes, res.FirstTry+res.Recovered)
	var stops uint64
	for _, n := range res.Stops.ByReason {
		stops += n
	}
	assert.Equal(t, res.Stops.Total, stops, "each stop has a reason: %v", res.Stops.ByReason)
	assert.Equal(t, res.Retries.Total, res.Retries.Transient+res.Retries.Throttling)
	var neverSent, refused uint64
	if res.Limiter != nil {
		neverSent = res.Limiter.CallsNeverSent
		assert.Equal(t, res.Setup.Mode, "adaptive")
		assert.Zero(t, res.Limiter.Waiting)
	}
	if res.Capacity != nil {
		refused = res.Capacity.Throttled
		assert.Equal(t, res.Server.Hits, res.Capacity.Answered+refused)
		assert.Positive(t, res.Capacity.ShareUsed)
		assert.LessOrEqual(t, res.Capacity.ShareUsed, 1.0)
	}
	assert.Equal(t, res.Attempts, res.Calls-neverSent+res.Retries.Total-res.Retries.Unsent, "each attempt is a call's first or a retry")
	var offered, sent, throttled uint64
	for _, slot := range res.Course.Slots {
		offered += slot.Offered
		sent += slot.Sent
		throttled += slot.Throttled
	}
	assert.Equal(t, []uint64{res.Calls, res.Attempts, res.Throttled}, []uint64{offered, sent, throttled}, "nothing is lost on the chart")
	var calls, attempts uint64
	for _, p := range res.Phases {
		calls += p.Calls
		attempts += p.Attempts
	}
	assert.Equal(t, res.Calls, calls)
	assert.Equal(t, res.Attempts, attempts)
	assert.GreaterOrEqual(t, res.Quota.Lowest, 0)
	assert.LessOrEqual(t, res.Quota.Last, res.Quota.Capacity)
	if res.Server != nil {
		var faults uint64
		for _, n := range res.Server.Faults {
			faults += n
		}
		assert.Equal(t, res.Server.Hits, faults+refused)
	}
}

func TestRunDrainsTheQuotaAndRecovers(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	c := quick(t, quickMix, "30%+25%+10%")
	res, err := runDrive(t, c)
	require.NoError(t, err)
	assertAddsUp(t, res)
	assert.EqualValues(t, c.Calls, res.Calls)
	assert.Equal(t, res.Attempts, res.Server.Hits, "every attempt reached the server, and nothing else did")
	assert.Positive(t, res.Recovered)
	assert.Positive(t, res.Stops.ByReason["quota"])
	assert.Zero(t, res.Retries.Throttling)

	require.Len(t, res.Phases, 4)
	before, outage, after := res.Phases[0], res.Phases[1], res.Phases[3]
	assert.Greater(t, before.SuccessRate, 0.9)
	assert.Less(t, outage.SuccessRate, 0.2, "a few calls began before the outage and were served in it, or the other way round")
	assert.Less(t, outage.PerCall, 1.3, "R6: an outage is not multiplied")
	assert.Greater(t, after.SuccessRate, 0.9)

	assert.Less(t, res.Quota.Lowest, 14, "drained")
	assert.NotNil(t, res.Quota.DrainedAfterMS)
	assert.Greater(t, res.Quota.Last, 250, "and on its way back: 700 calls after the outage gave a token each")

	assert.Positive(t, res.Allocs.PerCall)
	require.NotNil(t, res.Allocs.AddedByReprise)
	assert.Positive(t, *res.Allocs.PlainClient)
	assertGoroutinesEnd(t, goroutines)
}

// assertGoroutinesEnd waits for goroutines that are on their way out.
func assertGoroutinesEnd(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			stacks = stacks[:runtime.Stack(stacks, true)]
			require.LessOrEqual(t, runtime.NumGoroutine(), before, "%s", stacks)
		}
	}
}

func TestRunWithoutFaultsRetriesNothing(t *testing.T) {
	res, err := runDrive(t, quick(t, "none", "none"))
	require.NoError(t, err)
	assertAddsUp(t, res)
	assert.EqualValues(t, 2000, res.FirstTry)
	assert.EqualValues(t, 2000, res.Server.Hits)
	assert.Equal(t, 500, res.Quota.Lowest)
	assert.InDelta(t, 1, res.SuccessRate, 0)
	assert.Len(t, res.Phases, 1)
}

// Each fault must reach the engine as what it is.
func TestRunSeesEachFault(t *testing.T) {
	for name, row := range map[string]struct {
		faults            string
		transient, answer bool
	}{
		"500":         {"500=100%", true, true},
		"503":         {"503=100%", true, true},
		"retry-after": {"retry-after=100%", true, true},
		"reset":       {"reset=100%", true, false},
		"cut":         {"cut=100%", true, false},
		"throttle":    {"throttle=100%", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := quick(t, row.faults, "none")
			c.Calls, c.Workers, c.MaxAttempts, c.Deadline = 2, 2, 2, 20*time.Second
			res, err := runDrive(t, c)
			require.NoError(t, err, "the embedded server does as it was told")
			if row.answer {
				assert.EqualValues(t, 4, res.Answered)
				assert.Nil(t, res.LastError, "the calls ended with a response")
			} else {
				assert.Zero(t, res.Answered)
				require.NotNil(t, res.LastError)
				assert.Contains(t, *res.LastError, map[string]string{"reset": "connection reset by peer", "cut": "unexpected EOF"}[name])
				assert.NotContains(t, *res.LastError, "http://")
			}
			assertAddsUp(t, res)
			assert.EqualValues(t, 4, res.Server.Hits, "the client beneath repeats nothing on its own")
			assert.EqualValues(t, 2, res.Stops.ByReason["max_attempts"])
			if row.transient {
				assert.EqualValues(t, 2, res.Retries.Transient)
			} else {
				assert.EqualValues(t, 2, res.Retries.Throttling)
				assert.EqualValues(t, 4, res.Throttled)
			}
		})
	}
}

func TestRunTimesAttemptsOut(t *testing.T) {
	c := quick(t, "slow=100%", "none")
	c.SlowDelay, c.AttemptTimeout = time.Hour, 20*time.Millisecond
	c.Calls, c.Workers, c.MaxAttempts = 4, 4, 2
	res, err := runDrive(t, c)
	require.NoError(t, err)
	assert.Contains(t, *res.LastError, "no response within 20ms")
	assertAddsUp(t, res)
	assert.EqualValues(t, 4, res.Retries.Transient, "R3.6: an attempt's own time-out is transient")
	assert.EqualValues(t, 4, res.Stops.ByReason["max_attempts"])
	assert.GreaterOrEqual(t, res.AddedRetried.P50, 20.0, "the attempt that timed out was added")
}

// Calls that fail before the run leave their numbers out and do not end it.
func TestTheBaselineMayFail(t *testing.T) {
	c := quick(t, "none", "none")
	c.Calls, c.AttemptTimeout, c.Deadline, c.Baseline = 20, time.Nanosecond, time.Second, 0
	res, err := runDrive(t, c)
	require.NoError(t, err)
	assertAddsUp(t, res)
	assert.EqualValues(t, 20, res.Calls)
	assert.Positive(t, res.Stops.Total, "a busy machine's timer may be later than an answer, but not each time")
	assert.Nil(t, res.Allocs.AddedByTimeout)
	assert.NotNil(t, res.Allocs.AddedByReprise, "which has no part in that")
}

// README.md promises that a success allocates nothing: the time-out of an attempt
// is not to be taken for the engine's.
func TestTheTimeoutIsNoPartOfWhatRepriseAdds(t *testing.T) {
	c := quick(t, "none", "none")
	c.Calls, c.AttemptTimeout, c.Baseline = 10, 5*time.Second, 0 // of fewer calls, what others allocate is not little
	res, err := runDrive(t, c)
	require.NoError(t, err)
	assert.Less(t, *res.Allocs.AddedByReprise, 2.0)
	assert.Greater(t, *res.Allocs.AddedByTimeout, 3.0)

	c.AttemptTimeout = 0
	res, err = runDrive(t, c)
	require.NoError(t, err)
	assert.Nil(t, res.Allocs.AddedByTimeout)
}

func TestRunStopsAtTheDeadline(t *testing.T) {
	c := quick(t, "500=100%", "none")
	// Ten attempts wait more than nine ceilings of 50 ms and up can leave of
	// 100 ms, and ten calls make too few retries to drain the quota.
	c.Calls, c.Workers, c.Deadline, c.MaxAttempts = 10, 10, 100*time.Millisecond, 10
	res, err := runDrive(t, c)
	require.NoError(t, err)
	assertAddsUp(t, res)
	assert.EqualValues(t, 10, res.Stops.ByReason["deadline"], "%v", res.Stops.ByReason)
	assert.Equal(t, 500, res.Quota.Last+14*int(res.Retries.Total-res.Retries.Unsent), "a retry that does not fit costs nothing (R6.3)")
}

func TestRunOfADuration(t *testing.T) {
	c := quick(t, quickMix, "40%+30%+10%")
	c.Calls, c.Duration, c.Rate = 0, 300*time.Millisecond, 1000
	res, err := runDrive(t, c)
	require.NoError(t, err)
	assertAddsUp(t, res)
	assert.LessOrEqual(t, float64(res.Calls), res.CallingMS+12, "paced: one a millisecond and ten that catch up")
	assert.LessOrEqual(t, res.CallingMS, res.ElapsedMS)
}

func TestRunIsInterrupted(t *testing.T) {
	c := quick(t, "slow=100%", "none")
	c.SlowDelay, c.Deadline = time.Hour, 0
	d, err := Prepare(t.Context(), c)
	require.NoError(t, err)
	ctx, interrupt := context.WithCancel(t.Context())
	res, err := d.Run(ctx, func(r *record.Recorder) func() {
		go func() {
			for d.server.Hits() < 10 {
				runtime.Gosched()
			}
			interrupt()
		}()
		return func() {}
	})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	assert.True(t, res.Interrupted)
	assertAddsUp(t, res)
	assert.Equal(t, res.Calls, res.Stops.ByReason["cancelled"])
	assert.Nil(t, res.LastError)
	assert.LessOrEqual(t, res.Calls, uint64(c.Workers))

	_, err = d.Run(ctx, nil)
	require.ErrorIs(t, err, context.Canceled, "a run that cannot begin has no result")
}

func TestRunAgainstAnOwnServer(t *testing.T) {
	var hits atomic.Uint64
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, http.MethodGet, r.Method)
		switch hits.Add(1) % 10 {
		case 0:
			w.WriteHeader(http.StatusInternalServerError)
		case 1:
			w.WriteHeader(http.StatusNotFound)
		case 2:
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		default:
			_, _ = io.WriteString(w, "fine")
		}
	}))
	defer target.Close()
	c := quick(t, "none", "none")
	c.Calls = 500
	var err error
	c.Target, err = ParseTarget(target.URL)
	require.NoError(t, err)
	res, err := runDrive(t, c)
	require.NoError(t, err)
	assert.Equal(t, res.Calls, res.Successes+res.Stops.Total)
	assert.Equal(t, hits.Load(), res.Attempts)
	assert.Positive(t, res.Retries.Transient)
	assert.Positive(t, res.Stops.Total, "404s")
	assert.Nil(t, res.Server)
	assert.Nil(t, res.Allocs.PlainClient)
}

func TestLargeAnswersAreLeftToTheReader(t *testing.T) {
	for _, size := range []int{0, 1, wholeLimit - 1, wholeLimit, wholeLimit + 1, 3*wholeLimit + 5} {
		for _, chunked := range []bool{false, true} {
			target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !chunked {
					w.Header().Set("Content-Length", strconv.Itoa(size))
				}
				body := make([]byte, size)
				for i := range body {
					body[i] = byte(i)
				}
				_, _ = w.Write(body)
			}))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target.URL, nil)
			require.NoError(t, err)
			resp, err := roundTripWhole(http.DefaultTransport, req)
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Len(t, body, size)
			for i := range body {
				if body[i] != byte(i) {
					t.Fatalf("byte %d of %d is %d", i, size, body[i])
				}
			}
			target.Close()
		}
	}
}

func TestCheckTarget(t *testing.T) {
	for text, fine := range map[string]bool{
		"http://127.0.0.1:80/": true, "http://localhost": true, "https://LOCALHOST.:443/x": true, "http://[::1]:8080": true, "http://127.9.9.9": true,
		"http://example.com": false, "http://10.0.0.1": false, "http://0.0.0.0": false, "http://localhost.example.com": false, "http://192.168.1.1:80": false,
	} {
		u, err := ParseTarget(text)
		require.NoError(t, err, text)
		err = checkTarget(u, false)
		assert.Equal(t, fine, err == nil, text)
		assert.NoError(t, checkTarget(u, true), text)
	}
	for _, text := range []string{"", "127.0.0.1:80", "ftp://127.0.0.1", "http://", "http:///x", "http://a b", "http://user:secret@127.0.0.1/", "http://[::1"} {
		_, err := ParseTarget(text)
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), "--target", text)
		assert.NotContains(t, err.Error(), "secret")
	}
}

// A name may resolve to anything: the address counts. Nothing is sent.
func TestDialerRefusesOtherMachines(t *testing.T) {
	_, err := newDialer(false).DialContext(t.Context(), "tcp", "192.0.2.1:80")
	require.ErrorIs(t, err, errNotLoopback)
}

func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"a run needs an end":     func(c *Config) { c.Calls = 0 },
		"--workers is 0":         func(c *Config) { c.Workers = 0 },
		"--workers is 5000":      func(c *Config) { c.Workers = 5000 },
		"--rate is -1":           func(c *Config) { c.Rate = -1 },
		"--rate is 1e+07":        func(c *Config) { c.Rate = 1e7 },
		"--deadline is -1s":      func(c *Config) { c.Deadline = -time.Second },
		"--attempt-timeout is":   func(c *Config) { c.AttemptTimeout = -1 },
		"--slow-delay is":        func(c *Config) { c.SlowDelay = -1 },
		"--max-attempts is":      func(c *Config) { c.MaxAttempts = -1 },
		"--latency is -1s":       func(c *Config) { c.Latency = -time.Second },
		"--coalesce is -1s":      func(c *Config) { c.Coalesce = -time.Second },
		"--coalesce is about":    func(c *Config) { c.Coalesce = time.Second },
		"--capacity is -1":       func(c *Config) { c.Capacity = -1 },
		"--capacity is NaN":      func(c *Config) { c.Capacity = math.NaN() },
		"--capacity is the":      func(c *Config) { c.Capacity = 1; c.Target = &url.URL{Scheme: "http", Host: "127.0.0.1"} },
		"is not on this machine": func(c *Config) { c.Target = &url.URL{Scheme: "http", Host: "192.0.2.1"} },
		"reprise/engine: ":       func(c *Config) { c.Mode = engine.Mode(77) },
	} {
		c := Config{Calls: 1, Workers: 1}
		require.NoError(t, c.Check())
		change(&c)
		require.ErrorContains(t, c.Check(), want)
	}
}
