package httpretry_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
)

// Caddy keeps the connections that were upgraded as the keys of a map, and holds a
// lock when a body that cannot be one makes it panic.
func TestBodiesCanBeKeys(t *testing.T) {
	for _, status := range []int{101, 200} {
		to, _ := upstream(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			if status == 200 {
				_, _ = w.Write([]byte("hello"))
				return
			}
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_ = rw.Flush()
		})
		client, _ := direct(t, httpretry.WithAttemptTimeout(time.Minute))
		req, err := http.NewRequest(http.MethodGet, to, nil)
		require.NoError(t, err)
		if status == 101 {
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", "echo")
		}
		resp, err := client.Transport.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, status, resp.StatusCode)
		assert.NotPanics(t, func() { _ = map[any]bool{resp.Body: true} })
		require.NoError(t, resp.Body.Close())
	}
}
