package httpretry_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// A body whose source stops keeps neither an attempt beyond its time-out (R3.6) nor
// the call beyond its deadline, although net/http waits for its reads.
func TestStalledBody(t *testing.T) {
	const limit, long = 100 * time.Millisecond, 20 * time.Second
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer s.Close()
	call := func(t *testing.T, ctx context.Context, opts ...httpretry.Option) *engine.Error {
		t.Helper()
		e, err := engine.New(engine.WithSchedule(fastbackoff.Schedule{Transient: time.Millisecond}))
		require.NoError(t, err)
		source, feed := io.Pipe()
		defer feed.Close()
		go func() { _, _ = io.WriteString(feed, "half") }()
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, s.URL, source)
		require.NoError(t, err)
		req.ContentLength = 8
		hung := time.AfterFunc(long, func() { _ = feed.CloseWithError(io.ErrClosedPipe) })
		defer hung.Stop()
		began := time.Now()
		resp, err := httpretry.Client(e, append(opts, httpretry.WithBase(&http.Transport{DisableKeepAlives: true}))...).Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		assert.Less(t, time.Since(began), long/2)
		var ended *engine.Error
		require.ErrorAs(t, err, &ended)
		return ended
	}
	t.Run("attempt", func(t *testing.T) {
		ended := call(t, t.Context(), httpretry.WithAttemptTimeout(limit))
		assert.Equal(t, engine.ReasonMaxAttempts, ended.Reason)
		assert.Equal(t, 3, ended.Attempts)
		require.ErrorIs(t, ended, context.DeadlineExceeded)
	})
	t.Run("call", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		ended := call(t, ctx)
		assert.Equal(t, engine.ReasonDeadline, ended.Reason)
		assert.Equal(t, 1, ended.Attempts)
	})
}
