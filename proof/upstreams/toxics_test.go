package upstreams_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// poison puts a toxiproxy in this process before an nginx that answers 200, with
// a toxic on what comes from nginx (downstream) or on what goes to it (upstream).
type poison struct {
	*server
	proxy *toxiproxy.Proxy
}

func poisoned(t testing.TB, stream, kind, attributes string) *poison {
	t.Helper()
	p := &poison{server: nginx(t, "", `location / { return 200 "`+whole+`"; }`)}
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p.proxy = toxiproxy.NewProxy(api, kind, "127.0.0.1:0", strings.TrimPrefix(p.url, "http://"))
	require.NoError(t, p.proxy.Start())
	t.Cleanup(p.proxy.Stop)
	_, err := p.proxy.Toxics.AddToxicJson(strings.NewReader(
		fmt.Sprintf(`{"name":"it","type":%q,"stream":%q,"attributes":{%s}}`, kind, stream, attributes)))
	require.NoError(t, err)
	p.url = "http://" + p.proxy.Listen
	return p
}

// cure takes the toxic away, as a watched engine's onRetry.
func (p *poison) cure(t testing.TB) func() {
	return func() {
		if p.proxy.Toxics.GetToxic("it") != nil {
			assert.NoError(t, p.proxy.Toxics.RemoveToxic(t.Context(), "it"))
		}
	}
}

// whole is nginx's answer, 4000 bytes.
var whole = strings.Repeat("whole answer. ok ok\n", 200)

// Each toxic loses an attempt in its own way. While it lasts, a GET is tried
// three times, a POST, which may have arrived, once; when it ends with the first
// retry, the call ends well and its tokens are back (R6).
func TestToxics(t *testing.T) {
	rows := []struct {
		name, stream, kind, attributes string
		attemptTimeout                 time.Duration
		arrives                        bool // before it is lost
	}{
		{"the answer is reset", "downstream", "reset_peer", `"timeout":0`, 0, true},
		{"the request is reset", "upstream", "reset_peer", `"timeout":0`, 0, false},
		{"the answer never comes", "downstream", "timeout", `"timeout":0`, 60 * time.Millisecond, true},
		{"the connection ends without an answer", "downstream", "timeout", `"timeout":20`, 0, true},
		{"the request never arrives", "upstream", "timeout", `"timeout":20`, 0, false},
		{"the answer comes too late", "downstream", "latency", `"latency":2000`, 60 * time.Millisecond, true},
		{"not a byte of the answer", "downstream", "limit_data", `"bytes":0`, 0, true},
	}
	throughEach(t, func(t *testing.T, d door) {
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				p := poisoned(t, row.stream, row.kind, row.attributes)
				e := watch(t)
				send := d.open(t, e.Engine, row.attemptTimeout)

				got := send(t.Context(), ask{url: p.url, call: "get"})
				assert.Error(t, got.err)
				assert.Equal(t, 3, got.attempts)
				assert.Equal(t, classify.Transient, got.class, "R3.2, R3.6: %v", got.err)
				assert.Equal(t, engine.ReasonMaxAttempts, got.reason)
				assert.Equal(t, ms(25, 50), e.delays)
				assert.Equal(t, 472, e.tokens())

				post := send(t.Context(), ask{url: p.url, method: http.MethodPost, body: "order", call: "post-once"})
				assert.Equal(t, 1, post.attempts)
				assert.Equal(t, engine.ReasonNotReplayable, post.reason, "%v", post.err)
				assert.Equal(t, 472, e.tokens(), "R2.1")

				e.onRetry = p.cure(t)
				cured := send(t.Context(), ask{url: p.url, call: "cured"})
				assert.NoError(t, cured.err)
				assert.Equal(t, 200, cured.status)
				assert.Equal(t, 2, cured.attempts)
				assert.Equal(t, whole, cured.body)
				assert.Equal(t, 472, e.tokens(), "R6: given back")

				p.proxy.Stop()
				seen := times(p.requests(t))
				want := map[string]int{"get": 3, "post-once": 1, "cured": 2}
				if !row.arrives {
					want = map[string]int{"cured": 1}
				}
				assert.Equal(t, want, seen)
			})
		}
	})
}

// An answer in slices of a few bytes is a whole answer.
func TestSlices(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		p := poisoned(t, "downstream", "slicer", `"average_size":7,"size_variation":3,"delay":0`)
		e := watch(t)
		got := d.open(t, e.Engine, 0)(t.Context(), ask{url: p.url})
		assert.NoError(t, got.err)
		assert.Equal(t, whole, got.body)
		assert.Equal(t, 1, got.attempts)
		assert.Equal(t, 500, e.tokens())
	})
}

// An answer that is cut in its body: net/http has handed out its head by then, so
// its reader sees the cut, and nothing is sent again. fasthttp reads it whole,
// and the door tries again.
func TestCutInTheBody(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		p := poisoned(t, "downstream", "limit_data", `"bytes":1000`)
		e := watch(t)
		got := d.open(t, e.Engine, 0)(t.Context(), ask{url: p.url, call: "cut"})
		if d.streams {
			assert.Equal(t, 200, got.status)
			assert.ErrorIs(t, got.bodyErr, io.ErrUnexpectedEOF)
			assert.True(t, strings.HasPrefix(whole, got.body))
			assert.Equal(t, 500, e.tokens())
		} else {
			assert.Error(t, got.err)
			assert.Equal(t, classify.Transient, got.class, "%v", got.err)
			assert.Equal(t, 472, e.tokens())
		}
		p.proxy.Stop()
		want := map[bool]int{true: 1, false: 3}[d.streams]
		assert.Equal(t, map[string]int{"cut": want}, times(p.requests(t)))
	})
}

// An answer that is cut within its head. After "HTTP/1.1 2" net/http has words
// alone for it, which R3.8 does not read.
func TestCutInTheHead(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		for _, bytes := range []int{10, 30, 100} {
			p := poisoned(t, "downstream", "limit_data", fmt.Sprintf(`"bytes":%d`, bytes))
			e := watch(t)
			got := d.open(t, e.Engine, 0)(t.Context(), ask{url: p.url, call: "cut"})
			assert.Error(t, got.err)
			p.proxy.Stop()
			seen := times(p.requests(t))["cut"]
			t.Logf("after %d bytes: %d attempts, %d arrived, %v: %v", bytes, got.attempts, seen, got.class, got.err)
			assert.Equal(t, got.attempts, seen)
			assert.Equal(t, 500-14*(got.attempts-1), e.tokens())
		}
	})
}
