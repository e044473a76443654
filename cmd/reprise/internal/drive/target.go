package drive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// reachTimeout is how long the first connection to a target may take.
const reachTimeout = 3 * time.Second

var errNotLoopback = errors.New("not a loopback address; --allow-remote lets it be one")

// ParseTarget reads the URL of a server to call.
func ParseTarget(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		// url.Error repeats the text; what is left is the reason.
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err
		}
		return nil, fmt.Errorf("--target %q is not a URL: %w", text, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("--target %q: want a URL such as http://127.0.0.1:8080/path", text)
	}
	if u.User != nil {
		return nil, fmt.Errorf("--target %q: user names and passwords are not taken", u.Redacted())
	}
	return u, nil
}

// checkTarget refuses hosts that are not plainly this machine: a run is a load,
// and a retry demonstration has no business with other people's servers.
func checkTarget(u *url.URL, allowRemote bool) error {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	ip := net.ParseIP(host)
	if allowRemote || host == "localhost" || (ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("--target %s is not on this machine: a run loads its target, so other hosts need --allow-remote", u.Host)
}

// newDialer returns a dialer that checks the address it really connects to, so
// that no name can lead elsewhere.
func newDialer(allowRemote bool) *net.Dialer {
	d := &net.Dialer{Timeout: reachTimeout}
	if !allowRemote {
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return err
			}
			if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
				return fmt.Errorf("%s: %w", address, errNotLoopback)
			}
			return nil
		}
	}
	return d
}

// newTransport returns the client beneath the engine.
func newTransport(c *Config) *http.Transport {
	dialer := newDialer(c.AllowRemote)
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if tcp, ok := conn.(*net.TCPConn); ok && !c.AllowRemote {
				// The client closes a connection only when it gives an answer up;
				// without this each one would hold its port for a minute.
				_ = tcp.SetLinger(0)
			}
			return conn, err
		},
		MaxIdleConnsPerHost: c.Workers,
		MaxConnsPerHost:     c.Workers,
		IdleConnTimeout:     30 * time.Second,
		TLSHandshakeTimeout: reachTimeout,
		DisableCompression:  true,
	}
}

// reach says whether anything listens at u.
func reach(ctx context.Context, u *url.URL, allowRemote bool) error {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := newDialer(allowRemote).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return fmt.Errorf("target %s is unreachable: %w", u.Redacted(), err)
	}
	return conn.Close()
}
