package proxy_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxy"
	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
)

// BenchmarkForward is a GET through the proxy, whole on loopback, next to the same
// through a bare httputil.ReverseProxy: client, proxy and upstream share the cores.
func BenchmarkForward(b *testing.B) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }))
	defer up.Close()
	target, err := url.Parse(up.URL)
	require.NoError(b, err)
	bare := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target); r.SetXForwarded() },
		Transport: &http.Transport{MaxIdleConnsPerHost: 256},
	})
	defer bare.Close()
	c, err := proxyconf.One([]string{up.URL}, proxyconf.Default())
	require.NoError(b, err)
	ours, err := proxy.Start(proxy.Options{
		Listen: "127.0.0.1:0", MaxConnections: 1000, ClientTimeout: patience, IdleTimeout: patience, Log: slog.New(slog.DiscardHandler),
	}, c)
	require.NoError(b, err)
	defer func() { _ = ours.Shutdown(b.Context()) }()
	for name, at := range map[string]string{"door=bare": bare.URL, "door=reprise": "http://" + ours.Addr().String()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				c := &http.Client{Transport: &http.Transport{}}
				defer c.CloseIdleConnections()
				for pb.Next() {
					resp, err := c.Get(at)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			})
		})
	}
}
