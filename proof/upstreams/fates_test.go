package upstreams_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

// coin answers half of the requests with 503, by a hash of their random ids.
const coinHTTP = `split_clients "$request_id" $fate { 50% fail; * live; }`
const coinServer = `if ($fate = fail) { return 503 "tails"; } location / { return 200 "heads"; }`

// A quota of 100 tokens on which half of all attempts fail: the order of what
// nginx answered says where each token went (R6), call by call. A model this
// simple needs the calls one after the other.
func TestRandomFailures(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		server := nginx(t, coinHTTP, coinServer)
		e := watch(t, engine.WithQuota(engine.Quota{Capacity: 100}))
		send := d.open(t, e.Engine, 0)
		rounds := 600
		if testing.Short() {
			rounds = 200
		}
		got := make([]answer, rounds)
		for i := range got {
			got[i] = send(t.Context(), ask{url: server.url, call: fmt.Sprint(i)})
			require.NoError(t, got[i].err)
		}
		seen := server.requests(t)

		level, refusals, recoveries := 100, 0, 0
		for i, one := range got {
			attempts := 0
			for len(seen) > 0 && seen[0].call == fmt.Sprint(i) {
				attempts++
				status := seen[0].status
				seen = seen[1:]
				switch {
				case status == 200 && attempts == 1:
					level = min(level+1, 100)
				case status == 200:
					recoveries++
					level = min(level+14, 100)
				case attempts == 3:
					assert.Equal(t, engine.ReasonMaxAttempts, one.reason, "call %d", i)
				case level < 14:
					refusals++
					assert.Equal(t, engine.ReasonQuota, one.reason, "call %d", i)
				default:
					level -= 14
					continue
				}
				assert.Equal(t, status, one.status, "call %d: the last answer passes through", i)
				break
			}
			require.Equal(t, attempts, one.attempts, "call %d: attempts that arrived", i)
		}
		assert.Empty(t, seen, "requests that no attempt sent")
		assert.Equal(t, level, e.tokens(), "R6")
		s := e.Stats()
		assert.EqualValues(t, refusals, s.Stops[engine.ReasonQuota])
		assert.EqualValues(t, recoveries, s.Recoveries)
		assert.Positive(t, refusals, "R6.5: half failing is more than a quota stands")
		assert.Positive(t, recoveries)
	})
}

// Sixteen callers at once, before nginx and before HAProxy: a POST arrives once
// whatever becomes of it, all else as often as the engine says, and no token is
// lost on the way.
func TestRandomFailuresAtOnce(t *testing.T) {
	servers := map[string]func(testing.TB) *server{
		"nginx": func(t testing.TB) *server { return nginx(t, coinHTTP, coinServer) },
		"haproxy": func(t testing.TB) *server {
			return haproxy(t, `
	http-request deny deny_status 503 if { rand(100) lt 50 }
	http-request return status 200 content-type text/plain string heads
`)
		},
	}
	for name, serve := range servers {
		t.Run(name, func(t *testing.T) {
			throughEach(t, func(t *testing.T, d door) {
				server := serve(t)
				e := watch(t, engine.WithQuota(engine.Quota{Capacity: 5000}))
				send := d.open(t, e.Engine, 0)
				each := 60
				if testing.Short() {
					each = 15
				}
				var callers sync.WaitGroup
				for c := range 16 {
					callers.Go(func() {
						for i := range each {
							a := ask{url: server.url, call: fmt.Sprintf("%d-%d", c, i)}
							if i%3 == 0 {
								a.method, a.body, a.call = http.MethodPost, "order", a.call+"-once"
							}
							got := send(t.Context(), a)
							assert.NoError(t, got.err)
							if got.status == 503 {
								want := engine.ReasonMaxAttempts
								if i%3 == 0 {
									want = engine.ReasonNotReplayable
								}
								assert.Equal(t, want, got.reason)
							}
						}
					})
				}
				callers.Wait()

				retries, repeated := 0, 0
				for call, n := range times(server.requests(t)) {
					if retries += n - 1; n > 1 {
						repeated++
						assert.NotContains(t, call, "-once", "arrived %d times", n)
					}
					assert.LessOrEqual(t, n, 3)
				}
				s := e.Stats()
				assert.EqualValues(t, s.TransientRetries, retries, "R2: what was granted is what arrived")
				assert.Positive(t, repeated)
				// Each retry that did not end its call well kept its cost; a first
				// success on a full quota credits nothing, so this is a lower bound.
				assert.GreaterOrEqual(t, s.QuotaLevel, 5000-14*(retries-int(s.Recoveries)), "R6")
				assert.LessOrEqual(t, s.QuotaLevel, 5000)
			})
		})
	}
}
