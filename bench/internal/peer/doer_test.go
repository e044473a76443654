package peer

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

// doers are all of them, with a quota that any of these tests leaves tokens in;
// once says that it sends an operation once, whatever comes of it.
func doers() []struct {
	Doer
	once bool
} {
	return []struct {
		Doer
		once bool
	}{
		{Bare{}, true},
		{Reprise{Engine()}, false},
		{RepriseCall{Engine()}, false},
		{Reprise{Engine(engine.WithMode(engine.Adaptive))}, false},
		{RepriseAdaptiveCall{Engine(engine.WithMode(engine.Adaptive))}, false},
		{NewMutex(500, 500), false},
		{AWSTokens{"aws-standard", Standard(500, 500)}, false},
		{AWSTokens{"aws-adaptive", Adaptive(500, 500)}, false},
		{NewAWSMiddleware(Standard(500, 500)), false},
		{NewFailsafe(), false},
		{NewFailsafeBudget(), false},
		{NewAvast(), false},
		{NewCenkalti(), false},
		{Sethvargo{}, false},
		{NewGobreaker(), true},
		{NewXTime(), true},
		{NewUber(), true},
	}
}

// failing fails so many times and then succeeds; sent counts.
func failing(times int, err error, sent *int) Op {
	f := func() (int, error) {
		if *sent++; *sent <= times {
			return 0, err
		}
		return 42, nil
	}
	return Op{Context: func(context.Context) (int, error) { return f() }, Plain: f}
}

// errorsOf are a Doer's errors. Adaptive mode would wait after a throttle, so there
// the failure is another one.
func errorsOf(d Doer) (again, final error) {
	again, final = d.Errors()
	adaptive := d.Name() == "aws-adaptive"
	switch d := d.(type) {
	case Reprise:
		adaptive = d.E.Mode() == engine.Adaptive
	case RepriseAdaptiveCall:
		adaptive = true
	}
	if adaptive {
		again = Answer(http.StatusServiceUnavailable, "")
	}
	return again, final
}

func TestSameWork(t *testing.T) {
	for _, d := range doers() {
		t.Run(d.Name(), func(t *testing.T) {
			again, final := errorsOf(d.Doer)
			for _, c := range []struct {
				what   string
				times  int
				err    error
				sent   int // by a retrier
				worked bool
			}{
				{"a success is sent once", 0, nil, 1, true},
				{"one failure, one retry", 1, again, 2, true},
				{"two failures, two retries", 2, again, 3, true},
				{"three failures are all", 3, again, 3, false},
				{"a hundred are no more", 100, again, 3, false},
				{"a final one is not tried again", 1, final, 1, false},
			} {
				sent := 0
				v, err := d.Do(t.Context(), failing(c.times, c.err, &sent))
				if d.once {
					c.sent, c.worked = 1, c.times == 0
				}
				assert.Equal(t, c.sent, sent, c.what)
				if c.worked {
					assert.NoError(t, err, c.what)
					assert.Equal(t, 42, v, c.what)
				} else {
					assert.Error(t, err, c.what)
				}
			}
		})
	}
}

// The loop that is measured does what Do does.
func TestLoopIsDo(t *testing.T) {
	for _, d := range doers() {
		t.Run(d.Name(), func(t *testing.T) {
			again, final := errorsOf(d.Doer)
			for _, c := range []struct {
				times int
				err   error
			}{{0, nil}, {1, again}, {2, again}, {100, again}, {1, final}} {
				one, looped := 0, 0
				_, _ = d.Do(t.Context(), failing(c.times, c.err, &one))
				d.Loop(t.Context(), failing(c.times, c.err, &looped), 1)
				assert.Equal(t, one, looped, "%d failures with %v", c.times, c.err)
			}
			sent := 0
			d.Loop(t.Context(), failing(0, nil, &sent), 100)
			assert.Equal(t, 100, sent)
		})
	}
}

// Those that have R6's quota stop at the same place: 100 throttling retries, and
// one for every five successes after that.
func TestSameQuota(t *testing.T) {
	for _, d := range []Doer{
		Reprise{Engine()}, RepriseCall{Engine()}, NewMutex(500, 500),
		AWSTokens{"aws-standard", Standard(500, 500)}, NewAWSMiddleware(Standard(500, 500)),
	} {
		t.Run(d.Name(), func(t *testing.T) {
			again, _ := d.Errors()
			sent := 0
			for range 50 {
				_, err := d.Do(t.Context(), failing(1<<30, again, &sent))
				require.Error(t, err)
			}
			assert.Equal(t, 150, sent, "500 tokens are 100 retries")
			sent = 0
			_, _ = d.Do(t.Context(), failing(1<<30, again, &sent))
			assert.Equal(t, 1, sent, "the quota is empty")
			for range 5 {
				n := 0
				_, err := d.Do(t.Context(), failing(0, nil, &n))
				require.NoError(t, err)
			}
			sent = 0
			_, err := d.Do(t.Context(), failing(1, again, &sent))
			assert.NoError(t, err, "five successes pay for a retry")
			sent = 0
			_, err = d.Do(t.Context(), failing(1, again, &sent))
			assert.NoError(t, err, "which gave its tokens back")
		})
	}
}

// Nobody has a fail-safe that makes it idle: all keep what Errors says apart.
func TestErrorsAreWhatTheySay(t *testing.T) {
	for _, d := range doers() {
		again, final := d.Errors()
		require.Error(t, again, d.Name())
		require.Error(t, final, d.Name())
		assert.NotEqual(t, again.Error(), "", d.Name())
	}
}
