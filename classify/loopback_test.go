package classify_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
)

// The errors of this file are made by the standard library on loopback: what it
// really returns, and not what a test believes that it does.

// serve accepts connections on loopback and gives each to handle, which is to
// close it. It returns the address.
func serve(t *testing.T, handle func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			handle(c.(*net.TCPConn))
		}
	}()
	return l.Addr().String()
}

// client returns an HTTP client with its own connections and no proxy.
func client(t *testing.T, change func(*http.Client, *http.Transport)) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	c := &http.Client{Transport: tr}
	if change != nil {
		change(c, tr)
	}
	t.Cleanup(tr.CloseIdleConnections)
	return c
}

// readRequest reads the head of an HTTP/1 request.
func readRequest(c net.Conn) {
	var head []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(head), "\r\n\r\n"); head = append(head, b[0]) {
		if _, err := c.Read(b); err != nil {
			return
		}
	}
}

// fetch makes a request and reads the answer to its end.
func fetch(c *http.Client, target string) error {
	resp, err := c.Get(target)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func check(t *testing.T, err error, want classify.Verdict) {
	t.Helper()
	require.Error(t, err)
	got := classify.Default.ExplainError(err)
	assert.Equal(t, want.Rule, got.Rule, "%v (%T): %v, want %v", err, err, got.Rule, want.Rule)
	assert.Equal(t, want, got, "%v (%T)", err, err)
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func TestRealRefusedDial(t *testing.T) {
	err := fetch(client(t, nil), "http://"+closedPort(t))
	check(t, err, classify.Verdict{Class: transient, Rule: classify.RuleRefused, NeverSent: true})
}

func TestRealRefusedProxy(t *testing.T) {
	proxy := closedPort(t)
	err := fetch(client(t, func(_ *http.Client, tr *http.Transport) {
		tr.Proxy = func(r *http.Request) (*url.URL, error) { return url.Parse("http://" + proxy) }
	}), "http://127.0.0.1:1/")
	check(t, err, classify.Verdict{Class: transient, Rule: classify.RuleRefused, NeverSent: true})
}

func TestRealReset(t *testing.T) {
	addr := serve(t, func(c *net.TCPConn) {
		readRequest(c)
		c.SetLinger(0)
		c.Close()
	})
	err := fetch(client(t, nil), "http://"+addr)
	check(t, err, classify.Verdict{Class: transient, Rule: classify.RuleReset})
}

func TestRealCloseInsteadOfAnAnswer(t *testing.T) {
	addr := serve(t, func(c *net.TCPConn) {
		readRequest(c)
		c.Close()
	})
	err := fetch(client(t, nil), "http://"+addr)
	require.ErrorIs(t, err, io.EOF)
	check(t, err, classify.Verdict{Class: transient, Rule: classify.RuleEOF})
	// R3.2 through another door: a RoundTripper returns the EOF bare.
	check(t, errors.Unwrap(err), classify.Verdict{Class: transient, Rule: classify.RuleEOF})
}

func TestRealCutBodies(t *testing.T) {
	for name, answer := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"head":    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			addr := serve(t, func(c *net.TCPConn) {
				readRequest(c)
				io.WriteString(c, answer)
				c.CloseWrite() // half-closed: the client sees an orderly end
				c.Close()
			})
			check(t, fetch(client(t, nil), "http://"+addr), classify.Verdict{Class: transient, Rule: classify.RuleEOF})
		})
	}
}

func TestRealUseOfAClosedConnection(t *testing.T) {
	addr := serve(t, func(c *net.TCPConn) { c.Close() })
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	c.Close()
	_, err = c.Read(make([]byte, 1))
	check(t, err, classify.Verdict{Class: transient, Rule: classify.RuleClosed})
}

func TestRealTimeouts(t *testing.T) {
	addr := serve(t, func(c *net.TCPConn) {
		go func() {
			io.Copy(io.Discard, c) // until the client is gone; never an answer
			c.Close()
		}()
	})
	t.Run("socket", func(t *testing.T) {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
		c.SetReadDeadline(time.Unix(1, 0))
		_, err = c.Read(make([]byte, 1))
		check(t, err, classify.Verdict{Class: transient, Rule: classify.RuleTimeout})
	})
	t.Run("dial", func(t *testing.T) {
		_, err := (&net.Dialer{Deadline: time.Unix(1, 0)}).Dial("tcp", addr)
		check(t, err, classify.Verdict{Class: transient, Rule: classify.RuleAttemptDeadline, NeverSent: true})
	})
	t.Run("response header", func(t *testing.T) {
		err := fetch(client(t, func(_ *http.Client, tr *http.Transport) { tr.ResponseHeaderTimeout = time.Nanosecond }), "http://"+addr)
		check(t, err, classify.Verdict{Class: transient, Rule: classify.RuleAttemptDeadline})
	})
	t.Run("client", func(t *testing.T) {
		err := fetch(client(t, func(c *http.Client, _ *http.Transport) { c.Timeout = time.Nanosecond }), "http://"+addr)
		assert.Equal(t, transient, classify.Default.Error(err), "%v", err)
	})
	t.Run("TLS handshake", func(t *testing.T) {
		err := fetch(client(t, func(_ *http.Client, tr *http.Transport) { tr.TLSHandshakeTimeout = time.Nanosecond }), "https://"+addr)
		check(t, err, classify.Verdict{Class: transient, Rule: classify.RuleTimeout, NeverSent: true})
	})
}

func TestRealCancelAndDeadline(t *testing.T) {
	addr := serve(t, func(c *net.TCPConn) {
		go func() {
			io.Copy(io.Discard, c)
			c.Close()
		}()
	})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	causal, cancelCause := context.WithCancelCause(t.Context())
	cancelCause(syscall.ECONNRESET)

	for name, dialOnly := range map[string]bool{"dial": true, "request": false} {
		try := func(ctx context.Context) error {
			if dialOnly {
				_, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
				return err
			}
			req, err := http.NewRequestWithContext(ctx, "GET", "http://"+addr, nil)
			require.NoError(t, err)
			_, err = client(t, nil).Do(req)
			return err
		}
		// net's own "operation was canceled" is not the context's error, and
		// says so by its Is method only.
		assert.Equal(t, classify.RuleCancelled, classify.Default.ExplainError(try(cancelled)).Rule, name)
		assert.Equal(t, classify.RuleAttemptDeadline, classify.Default.ExplainError(try(expired)).Rule, name)
		assert.Equal(t, final, classify.Default.Error(try(cancelled)), name)
		assert.Equal(t, transient, classify.Default.Error(try(expired)), name)
	}
	assert.Equal(t, final, classify.Default.Error(errors.Join(causal.Err(), context.Cause(causal))), "a cancel stays one whatever its cause")
}

func TestRealTLSFailures(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	srv.StartTLS()
	defer srv.Close()
	trusted := srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	try := func(conf *tls.Config) error {
		return fetch(client(t, func(_ *http.Client, tr *http.Transport) { tr.TLSClientConfig = conf }), srv.URL)
	}
	t.Run("unknown authority", func(t *testing.T) {
		err := try(&tls.Config{RootCAs: x509.NewCertPool()})
		require.ErrorAs(t, err, new(x509.UnknownAuthorityError))
		check(t, err, classify.Verdict{Rule: classify.RuleCertificate, NeverSent: true})
	})
	t.Run("host name", func(t *testing.T) {
		err := try(&tls.Config{RootCAs: trusted, ServerName: "wrong.test"})
		require.ErrorAs(t, err, new(x509.HostnameError))
		check(t, err, classify.Verdict{Rule: classify.RuleCertificate, NeverSent: true})
	})
	t.Run("expired", func(t *testing.T) {
		err := try(&tls.Config{RootCAs: trusted, Time: func() time.Time { return time.Unix(1<<40, 0) }})
		require.ErrorAs(t, err, new(x509.CertificateInvalidError))
		check(t, err, classify.Verdict{Rule: classify.RuleCertificate, NeverSent: true})
	})
	t.Run("alert from the server", func(t *testing.T) {
		check(t, try(&tls.Config{RootCAs: trusted, MaxVersion: tls.VersionTLS12}), classify.Verdict{Rule: classify.RuleTLS})
	})
	t.Run("not TLS", func(t *testing.T) {
		addr := serve(t, func(c *net.TCPConn) {
			io.WriteString(c, "220 mail.test ESMTP\r\n")
			io.Copy(io.Discard, c)
			c.Close()
		})
		_, err := tls.Dial("tcp", addr, &tls.Config{ServerName: "x.test"})
		require.ErrorAs(t, err, new(tls.RecordHeaderError))
		check(t, err, classify.Verdict{Rule: classify.RuleTLS})
		assert.Equal(t, final, classify.Default.Error(fetch(client(t, nil), "https://"+addr)))
	})
	t.Run("plain HTTP", func(t *testing.T) {
		plain := httptest.NewServer(http.NotFoundHandler())
		defer plain.Close()
		err := fetch(client(t, nil), strings.Replace(plain.URL, "http:", "https:", 1))
		assert.Equal(t, final, classify.Default.Error(err), "%v", err)
	})
}

func TestRealMisuse(t *testing.T) {
	// R3.3: a request that cannot be made is not made again.
	loop := httptest.NewServer(http.RedirectHandler("/", http.StatusFound))
	defer loop.Close()
	c := client(t, nil)
	_, badURL := http.NewRequest("GET", "http://[::1/", nil)
	_, badEscape := http.NewRequest("GET", "http://x.test/%zz", nil)
	badHeader, _ := http.NewRequest("GET", loop.URL, nil)
	badHeader.Header["X"] = []string{"a\nb"}
	_, headerErr := c.Do(badHeader)
	noHost, _ := http.NewRequest("GET", "http:///", nil)
	_, hostErr := c.Do(noHost)
	_, noPort := net.Dial("tcp", "127.0.0.1")
	_, noNetwork := net.Dial("tpc", "127.0.0.1:1")
	for name, err := range map[string]error{
		"redirect loop": fetch(c, loop.URL), "scheme": fetch(c, "gopher://x.test/"), "no scheme": fetch(c, "x.test"),
		"URL": badURL, "escape": badEscape, "header": headerErr, "host": hostErr, "port": noPort, "network": noNetwork,
	} {
		require.Error(t, err, name)
		assert.Equal(t, final, classify.Default.Error(err), "%s: %v", name, err)
	}
	for _, err := range []error{badURL, badEscape, noPort, noNetwork} {
		assert.Equal(t, classify.RuleBadRequest, classify.Default.ExplainError(err).Rule, "%v", err)
	}
}

func TestRealLocalFault(t *testing.T) {
	// The socket is refused by this machine, in the shape that net gives it.
	d := net.Dialer{Control: func(string, string, syscall.RawConn) error { return sys("socket", syscall.EMFILE) }}
	_, err := d.Dial("tcp", "127.0.0.1:1")
	check(t, err, classify.Verdict{Rule: classify.RuleLocalFault, NeverSent: true})
}

// dnsServer answers every question with this response code.
func dnsServer(t *testing.T, code byte) *net.Resolver {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	go func() {
		for buf := make([]byte, 1024); ; {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if n < 12 {
				continue
			}
			buf[2], buf[3] = 0x81, 0x80|code // a response, recursion desired and available
			clear(buf[6:12])                 // no answers, nothing additional
			end := 12
			for end < n && buf[end] != 0 {
				end += int(buf[end]) + 1
			}
			binary.BigEndian.PutUint16(buf[4:], 1)
			c.WriteTo(buf[:min(n, end+5)], from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", c.LocalAddr().String())
	}}
}

func TestRealDNS(t *testing.T) {
	for name, c := range map[string]struct {
		code byte
		want classify.Verdict
	}{
		"NXDOMAIN": {3, classify.Verdict{Rule: classify.RuleDNSNotFound, NeverSent: true}},
		"SERVFAIL": {2, classify.Verdict{Class: transient, Rule: classify.RuleDNSTemporary, NeverSent: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := dnsServer(t, c.code)
			_, err := r.LookupHost(t.Context(), "missing.test.")
			check(t, err, c.want)
			_, err = (&net.Dialer{Resolver: r}).Dial("tcp", "missing.test.:80")
			check(t, err, c.want)
		})
	}
}
