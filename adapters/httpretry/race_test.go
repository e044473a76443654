package httpretry_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// R2.2: in adaptive mode the limiter hears of the attempt of a race that failed,
// although it is the other that counts.
func TestLimiterHearsOfBothAttempts(t *testing.T) {
	for _, list := range [][]step{
		{{time.Second, 200, nil}, {ms, 429, nil}}, // the hedge is throttled
		{{20 * ms, 429, nil}, {time.Second, 200, nil}},
		{{20 * ms, 503, nil}, {time.Second, 200, nil}}, // nobody is
	} {
		synctest.Test(t, func(t *testing.T) {
			e, s := newEngine(t, engine.WithMode(engine.Adaptive)), &steps{list: list}
			resp, err := newTransport(t, e, httpretry.WithBase(s), httpretry.WithHedge(10*ms)).RoundTrip(get(t, t.Context()))
			require.NoError(t, err)
			readAll(t, resp)
			assert.Len(t, s.sent, 2)
			assert.Equal(t, list[0].status == 429 || list[1].status == 429, e.Stats().Limiter.Enabled)
		})
	}
}

// A caller who has left gets no hedge, although the base does not notice.
func TestNoHedgeForACallerWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*ms, cancel)
		b := answers(func(int) *http.Response { <-time.After(time.Second); return response(200, "") })
		e := newEngine(t)
		resp, err := newTransport(t, e, httpretry.WithBase(b), httpretry.WithHedge(10*ms)).RoundTrip(get(t, ctx))
		require.NoError(t, err)
		readAll(t, resp)
		assert.Len(t, b.sent, 1)
		assert.Zero(t, e.Stats().Hedges)
	})
}

// dawdlingBody says at its end what had become of the attempt's context.
type dawdlingBody struct {
	req   *http.Request
	ended chan error
}

func (b dawdlingBody) Read([]byte) (int, error) {
	<-time.After(time.Second / 2)
	b.ended <- b.req.Context().Err()
	return 0, io.EOF
}

func (dawdlingBody) Close() error { return nil }

// The attempt of a race that failed is read on while the other goes on and after it
// has won, so that its connection can be used again: the end of the race is not the
// end of its context.
func TestFailedRacerIsReadOn(t *testing.T) {
	for slow := 1; slow <= 2; slow++ { // which of them succeeds
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			b := &base{answer: func(n int, req *http.Request) (*http.Response, error) {
				<-time.After(20 * ms)
				if n == slow {
					<-time.After(20 * ms)
					return response(200, ""), nil
				}
				resp := response(503, "", "Content-Type", "image/png")
				resp.ContentLength, resp.Body = 5, dawdlingBody{req, ended}
				return resp, nil
			}}
			resp, err := newTransport(t, newEngine(t), httpretry.WithBase(b), httpretry.WithHedge(10*ms)).RoundTrip(get(t, t.Context()))
			require.NoError(t, err)
			assert.Equal(t, 200, resp.StatusCode)
			readAll(t, resp)
			assert.NoError(t, <-ended)
		})
	}
}

// A base that writes to an attempt's headers writes to none of the caller's.
func TestHedgesHeadersAreTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &steps{list: []step{{time.Hour, 200, nil}, {ms, 200, nil}}}
		rude := roundTripper(func(req *http.Request) (*http.Response, error) {
			req.Header.Add("Rude", "x")
			return s.RoundTrip(req)
		})
		req := get(t, t.Context())
		resp, err := newTransport(t, newEngine(t), httpretry.WithBase(rude), httpretry.WithHedge(10*ms)).RoundTrip(req)
		require.NoError(t, err)
		readAll(t, resp)
		assert.Empty(t, req.Header)
		assert.Equal(t, []string{"x"}, s.sent[1].header["Rude"])
	})
}

// The body of an attempt is the base's to close: not that of a success, which the
// base may still be sending.
func TestAttemptsBodyIsLeftToTheBase(t *testing.T) {
	var bodies []*trackedBody
	b := roundTripper(func(*http.Request) (*http.Response, error) {
		return response([]int{503, 200}[min(len(bodies), 1)], ""), nil
	})
	req := request(t, t.Context(), "PUT", strings.NewReader("text"))
	req.GetBody = func() (io.ReadCloser, error) {
		bodies = append(bodies, opaque("text"))
		return bodies[len(bodies)-1], nil
	}
	resp, err := newTransport(t, newEngine(t, engine.WithClock(noSleep{})), httpretry.WithBase(b)).RoundTrip(req)
	require.NoError(t, err)
	assert.Equal(t, 200, resp.StatusCode)
	require.Len(t, bodies, 1)
	assert.Zero(t, bodies[0].closed())
}

// R6.1: the body that was made for a hedge which the quota then refused is closed.
func TestBodyOfARefusedHedgeIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := opaque("text")
		req := request(t, t.Context(), "PUT", strings.NewReader("text"))
		req.GetBody = func() (io.ReadCloser, error) { return body, nil }
		s := &steps{list: []step{{time.Second, 200, nil}}}
		resp, err := newTransport(t, newEngine(t, engine.WithTokens(13)), httpretry.WithBase(s), httpretry.WithHedge(10*ms)).RoundTrip(req)
		require.NoError(t, err)
		readAll(t, resp)
		assert.Len(t, s.sent, 1)
		assert.Equal(t, 1, body.closed())
	})
}
