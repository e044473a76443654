package httpretry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

func TestRetries(t *testing.T) {
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hits.Add(1) < 3 {
			w.WriteHeader(503)
		}
		_, _ = w.Write([]byte("hello"))
	}))
	defer server.Close()
	e, err := engine.New()
	require.NoError(t, err)
	resp, err := httpretry.Client(e).Get(server.URL)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "hello", string(body))
	require.EqualValues(t, 3, hits.Load())
	r, ok := httpretry.ResultOf(resp)
	require.True(t, ok)
	require.True(t, r.Succeeded)
	require.Equal(t, 3, r.Attempts)
}
