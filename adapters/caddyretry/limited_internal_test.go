package caddyretry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Peer fault 98: a call's time is from its start until the headers of its answer, and
// not that of the body.
func TestLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, leave := context.WithCancel(t.Context())
		l := limit(client, time.Second)
		at, ok := l.Deadline()
		assert.True(t, ok)
		assert.Equal(t, time.Now().Add(time.Second), at)
		resp, err := l.end(&http.Response{StatusCode: 200}, nil)
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		<-time.After(time.Hour)
		assert.NoError(t, l.Err())
		_, ok = l.Deadline()
		assert.False(t, ok)
		leave()
		assert.ErrorIs(t, l.Err(), context.Canceled)
	})
}

// What came, or failed, when the time was up is late, and no cancellation, whatever
// a transport makes of it.
func TestLimitedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit(t.Context(), time.Second)
		<-l.Done()
		assert.ErrorIs(t, l.Err(), context.DeadlineExceeded)
		assert.ErrorIs(t, context.Cause(l), context.DeadlineExceeded)
		body := &closed{Reader: strings.NewReader("late")}
		_, err := l.end(&http.Response{StatusCode: 200, Body: body}, nil)
		assert.Equal(t, error(errTimeout), err)
		assert.True(t, body.closed)
		assert.Equal(t, "deadline", reportOf(nil, err).reason)

		l = limit(t.Context(), time.Second)
		<-l.Done()
		_, err = l.end(nil, errors.Join(context.Canceled, io.ErrUnexpectedEOF))
		assert.NotErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.True(t, timedOut(err))
	})
}

type closed struct {
	io.Reader
	closed bool
}

func (c *closed) Close() error { c.closed = true; return nil }
