//go:build !race

package httpretry_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
)

// A success at the first attempt allocates nothing beside what the base does,
// with or without a body, as long as that has GetBody and no option asks for
// more.
func TestAllocations(t *testing.T) {
	answer := response(200, "")
	b := roundTripper(func(*http.Request) (*http.Response, error) { return answer, nil })
	transport := newTransport(t, newEngine(t), httpretry.WithBase(b))
	withBody := request(t, t.Context(), http.MethodPut, strings.NewReader("text"))
	long := get(t, httpretry.LongPoll(t.Context()))
	for name, req := range map[string]*http.Request{"no body": get(t, t.Context()), "GetBody": withBody, "long poll": long} {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			_, err := transport.RoundTrip(req)
			require.NoError(t, err)
		}), name)
	}
}
