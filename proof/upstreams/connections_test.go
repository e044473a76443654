package upstreams_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// crowd sends n requests by each of 8 callers, every third of them a POST, and
// returns their answers by call.
func crowd(t *testing.T, send sender, url string, n int) map[string]answer {
	t.Helper()
	var mu sync.Mutex
	got := make(map[string]answer)
	var callers sync.WaitGroup
	for c := range 8 {
		callers.Go(func() {
			for i := range n {
				a := ask{url: url, call: fmt.Sprintf("%d-%d", c, i)}
				if i%3 == 0 {
					a.method, a.body, a.call = http.MethodPost, "order", a.call+"-once"
				}
				one := send(t.Context(), a)
				mu.Lock()
				got[a.call] = one
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	return got
}

// assertOnce fails if a request that is not idempotent arrived twice.
func assertOnce(t *testing.T, seen map[string]int) {
	t.Helper()
	for call, n := range seen {
		if strings.HasSuffix(call, "-once") {
			assert.Equal(t, 1, n, "%s is not idempotent, and arrived %d times", call, n)
		}
	}
}

// nginx ends each connection after its third request, and says so: that is no
// failure, costs nothing and sends nothing again.
func TestKeepAliveEnds(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		server := nginx(t, "keepalive_requests 3;", `location / { return 200 "yes"; }`)
		e := watch(t)
		got := crowd(t, d.open(t, e.Engine, 0), server.url, 50)
		for call, one := range got {
			assert.NoError(t, one.err, call)
			assert.Equal(t, 200, one.status, call)
			assert.Equal(t, 1, one.attempts, call)
		}
		seen := times(server.requests(t))
		assert.Len(t, seen, len(got))
		for call, n := range seen {
			assert.Equal(t, 1, n, call)
		}
		assert.Equal(t, engine.Stats{QuotaLevel: 500, QuotaCapacity: 500}, e.Stats())
	})
}

// nginx ends connections that are idle for a millisecond and says nothing, so
// that requests meet their end half way. What is idempotent gets through; what
// is not arrives once at the most.
func TestKeepAliveRaces(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		server := nginx(t, "keepalive_timeout 1ms;", `location / { return 200 "yes"; }`)
		e := watch(t, engine.WithQuota(engine.Quota{Capacity: 100_000}))
		n := 300
		if testing.Short() {
			n = 60
		}
		got := crowd(t, d.open(t, e.Engine, 0), server.url, n)
		seen := times(server.requests(t))
		lost := 0
		for call, one := range got {
			if strings.HasSuffix(call, "-once") {
				if one.err != nil {
					lost++
				}
				continue
			}
			if one.err != nil && !d.mends { // three dead connections, one after the other
				lost++
				assert.Equal(t, engine.ReasonMaxAttempts, one.reason, call)
				continue
			}
			assert.NoError(t, one.err, call)
			assert.GreaterOrEqual(t, seen[call], 1, call)
		}
		assertOnce(t, seen)
		t.Logf("%d of %d calls were lost with their connections; %d retries", lost, len(got), e.Stats().TransientRetries)
	})
}

// All sixteen connections that a client keeps die at once, as when the server is
// restarted. The next call costs one attempt at the most: not one for each dead
// connection.
func TestPoolDies(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		p := poisoned(t, "downstream", "latency", `"latency":60`) // so that sixteen are under way at once
		e := watch(t)
		send := d.open(t, e.Engine, 0)
		var callers sync.WaitGroup
		for range 16 {
			callers.Go(func() { assert.Equal(t, 200, send(t.Context(), ask{url: p.url}).status) })
		}
		callers.Wait()
		p.proxy.Stop()
		require.NoError(t, p.proxy.Start())

		got := send(t.Context(), ask{url: p.url, call: "next"})
		assert.NoError(t, got.err)
		assert.Equal(t, 200, got.status)
		assert.LessOrEqual(t, got.attempts, 2)
		assert.Equal(t, 500, e.tokens(), "R6: given back")
		p.proxy.Stop()
		assert.Equal(t, 1, times(p.requests(t))["next"])
	})
}

// secure is nginx with HTTP/2 over TLS, whose certificate lives for this test,
// and a base transport that trusts it.
func secure(t *testing.T, http2, location string) (*server, *http.Transport) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cert"), certPEM, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key"),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))

	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(certPEM))
	base := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(base.CloseIdleConnections)

	s := startNginx(t, http2, "ssl http2", fmt.Sprintf("ssl_certificate %s/cert; ssl_certificate_key %[1]s/key; %s", dir, location))
	s.url = strings.Replace(s.url, "http:", "https:", 1)
	s.readyBy(t, s.url+"/ready", base.Clone())
	return s, base
}

// HTTP/2: nginx tells each connection to go away after five requests (GOAWAY) and
// takes two streams at a time. All calls get through, and once.
func TestHTTP2GoAway(t *testing.T) {
	server, base := secure(t, "keepalive_requests 5; http2_max_concurrent_streams 2;", `location / { return 200 "yes"; }`)
	e := watch(t)
	got := crowd(t, sendHTTP(t, httpretry.Client(e.Engine, httpretry.WithBase(base))), server.url, 40)
	for call, one := range got {
		assert.NoError(t, one.err, call)
		assert.Equal(t, 200, one.status, call)
	}
	base.CloseIdleConnections()
	seen := times(server.requests(t))
	assert.Len(t, seen, len(got))
	assertOnce(t, seen)
	assert.Equal(t, 500, e.tokens())
}

func TestHTTP2Answers(t *testing.T) {
	server, base := secure(t, "", `location / { return 503 "its own"; }`)
	e := watch(t)
	send := sendHTTP(t, httpretry.Client(e.Engine, httpretry.WithBase(base)))
	got := send(t.Context(), ask{url: server.url, method: http.MethodPut, body: "new"})
	assert.Equal(t, 503, got.status)
	assert.Equal(t, "its own", got.body)
	assert.Equal(t, 3, got.attempts)
	assert.Equal(t, ms(25, 50), e.delays)
	assert.Equal(t, 1, send(t.Context(), ask{url: server.url, method: http.MethodPost}).attempts)
	base.CloseIdleConnections()
	assert.Len(t, server.requests(t), 4)
}

// A certificate that nobody vouches for is no I/O failure (R3.3).
func TestUntrustedCertificate(t *testing.T) {
	server, _ := secure(t, "", `location / { return 200; }`)
	throughEach(t, func(t *testing.T, d door) {
		e := watch(t)
		got := d.open(t, e.Engine, 0)(t.Context(), ask{url: server.url})
		assert.Error(t, got.err)
		assert.Equal(t, 1, got.attempts)
		assert.Equal(t, 500, e.tokens())
		var own *engine.Error
		assert.NotErrorAs(t, got.err, &own, "a first failure that is not retryable comes back untouched")
	})
	assert.Empty(t, server.requests(t))
}
