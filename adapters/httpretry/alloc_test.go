//go:build !race

package httpretry_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// A success at the first attempt allocates nothing beside what the base does,
// with or without a body, as long as that has GetBody and no option asks for
// more.
func TestAllocations(t *testing.T) {
	answer := response(200, "")
	b := roundTripper(func(*http.Request) (*http.Response, error) { return answer, nil })
	transport := newTransport(t, newEngine(t), httpretry.WithBase(b))
	withBody := request(t, t.Context(), http.MethodPut, strings.NewReader("text"))
	group, err := engine.NewGroup[string](newEngine(t), 10)
	require.NoError(t, err)
	byHost := newTransport(t, newEngine(t), httpretry.WithBase(b), httpretry.WithEngineByHost(group))
	for url, want := range map[string]float64{"http://service.test:8080/path": 0, "http://service.test/path": 1} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		assert.Equal(t, want, testing.AllocsPerRun(100, func() {
			_, err := byHost.RoundTrip(req)
			require.NoError(t, err)
		}), "by host: %s", url)
	}

	long := get(t, httpretry.LongPoll(t.Context()))
	for name, req := range map[string]*http.Request{"no body": get(t, t.Context()), "GetBody": withBody, "long poll": long} {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			_, err := transport.RoundTrip(req)
			require.NoError(t, err)
		}), name)
	}
}

// What NoResend says that it costs, and what it does not cost those who do without.
func TestNoResendAllocations(t *testing.T) {
	answer := response(200, "")
	b := httpretry.NoResend(roundTripper(func(*http.Request) (*http.Response, error) { return answer, nil }))
	for name, req := range map[string]*http.Request{
		"no body": get(t, t.Context()), "body": request(t, t.Context(), http.MethodPut, strings.NewReader("text")),
	} {
		assert.EqualValues(t, 6, testing.AllocsPerRun(100, func() {
			_, err := b.RoundTrip(req)
			require.NoError(t, err)
		}), name)
	}
}
