package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
)

// Options are what a Server is told once.
type Options struct {
	Listen         string         // HOST:PORT of the main listener
	Admin          string         // HOST:PORT of the admin listener; "" is none
	MaxHeader      int            // bytes of a request's header
	MaxConnections int            // of clients at a time
	ClientTimeout  time.Duration  // for a header; for each piece of a body, either way
	IdleTimeout    time.Duration  // of a connection without a request
	Trusted        []netip.Prefix // whose X-Forwarded headers count
	AccessLog      bool           // a line for each request, else at the debug level
	Version        string
	Log            *slog.Logger
}

// Server is a running proxy.
type Server struct {
	o       Options
	log     *slog.Logger
	base    *http.Transport
	buffers buffers
	counts  serverCounts

	table     atomic.Pointer[table] // of the present configuration; written under reloading
	reloading sync.Mutex

	life    context.Context // of all requests
	cut     context.CancelCauseFunc
	ending  atomic.Bool
	running *gate // requests, upgraded connections included

	main, side         *http.Server // side may be nil
	mainAddr, sideAddr net.Addr
	failure            chan error
}

// Start listens and serves. When it returns both listeners are open.
func Start(o Options, c proxyconf.Config) (*Server, error) {
	s := &Server{o: o, log: o.Log, base: newBase(), running: newGate(), failure: make(chan error, 2)}
	s.life, s.cut = context.WithCancelCause(context.Background())
	t, _, err := s.newTable(c, &table{})
	if err != nil {
		return nil, err
	}
	s.table.Store(t)

	listener, err := listen("--listen", o.Listen)
	if err != nil {
		return nil, err
	}
	s.mainAddr = listener.Addr()
	if err := s.checkLoops(c); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.main = s.newServer(http.HandlerFunc(s.serve))
	s.main.MaxHeaderBytes = o.MaxHeader
	s.main.ConnState = s.connState
	if o.Admin != "" {
		side, err := listen("--admin", o.Admin)
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		s.sideAddr = side.Addr()
		s.side = s.newServer(s.admin())
		s.side.MaxHeaderBytes = 16 << 10
		s.side.WriteTimeout = time.Minute
		go s.run(s.side, netutil.LimitListener(side, 64))
	}
	go s.run(s.main, netutil.LimitListener(listener, o.MaxConnections))
	return s, nil
}

// newBase is the transport beneath all upstreams. It reads no environment, asks
// for no compression of its own, and has bounds where an upstream could have none.
func newBase() *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           4096,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

func (s *Server) newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: s.o.ClientTimeout,
		IdleTimeout:       s.o.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return s.life },
	}
}

// listen opens a listener on loopback, or where it is told in so many words.
func listen(flag, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return nil, fmt.Errorf("%s %q: want HOST:PORT such as 127.0.0.1:8080; 0.0.0.0:8080 or [::]:8080 is every address of this machine", flag, address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		var at *net.OpError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fmt.Errorf("%s %s: %w", flag, address, err)
	}
	return listener, nil
}

func (s *Server) run(server *http.Server, listener net.Listener) {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		s.failure <- fmt.Errorf("listener %v: %w", listener.Addr(), err)
	}
}

func (s *Server) connState(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.counts.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.counts.connections.Add(-1)
	}
}

// checkLoops refuses an upstream that is the proxy itself.
func (s *Server) checkLoops(c proxyconf.Config) error {
	own, _ := s.mainAddr.(*net.TCPAddr)
	for _, u := range c.Upstreams {
		for _, url := range u.URLs {
			if leadsTo(own, url) {
				return fmt.Errorf("upstream %q is at %s, which is where the proxy itself listens", u.Name, url)
			}
		}
	}
	return nil
}

// leadsTo reports whether a URL is seen, without asking for names, to be at a
// listener.
func leadsTo(own *net.TCPAddr, to *url.URL) bool {
	port := to.Port()
	if port == "" && to.Scheme == "http" {
		port = "80"
	}
	if own == nil || port != strconv.Itoa(own.Port) {
		return false
	}
	here := own.IP.IsLoopback() || own.IP.IsUnspecified()
	ip := net.ParseIP(to.Hostname())
	return ip == nil && here && strings.EqualFold(to.Hostname(), "localhost") ||
		ip.Equal(own.IP) || own.IP.IsUnspecified() && (ip.IsLoopback() || ip.IsUnspecified())
}

// Addr is where the proxy listens.
func (s *Server) Addr() net.Addr { return s.mainAddr }

// AdminAddr is where the admin endpoints are, nil if there are none.
func (s *Server) AdminAddr() net.Addr { return s.sideAddr }

// Failed sends what ended a listener, if anything does before Shutdown.
func (s *Server) Failed() <-chan error { return s.failure }

// newTable makes the table of a configuration out of the one before. Nothing of
// that changes until adopt is called.
func (s *Server) newTable(c proxyconf.Config, old *table) (t *table, adopt func() error, err error) {
	byName := make(map[string]*upstream)
	for _, u := range old.upstreams {
		byName[u.Name] = u
	}
	var upstreams []*upstream
	var adopts []func() error
	for _, conf := range c.Upstreams {
		u, adopt, err := s.newUpstream(conf, byName[conf.Name])
		if err != nil {
			return nil, nil, fmt.Errorf("upstream %q: %w", conf.Name, err)
		}
		upstreams, adopts = append(upstreams, u), append(adopts, adopt)
	}
	return newTable(upstreams), func() error {
		var errs []error
		for _, adopt := range adopts {
			errs = append(errs, adopt())
		}
		return errors.Join(errs...)
	}, nil
}

// Reload serves another configuration from now on. Requests that are under way
// end as they began; an error changes nothing. Blocks for another Reload.
func (s *Server) Reload(c proxyconf.Config) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	err := s.checkLoops(c)
	if err == nil {
		var t *table
		var adopt func() error
		if t, adopt, err = s.newTable(c, s.table.Load()); err == nil {
			err = adopt()
			s.table.Store(t)
		}
	}
	if err != nil {
		s.counts.failedReloads.Add(1)
		return err
	}
	s.counts.reloads.Add(1)
	return nil
}

// ReloadFailed counts a configuration that did not get as far as Reload.
func (s *Server) ReloadFailed() { s.counts.failedReloads.Add(1) }

// lastWords is how long requests that are cut off have to say so.
const lastWords = 500 * time.Millisecond

// Shutdown takes no new connections and waits for the requests that are under
// way, upgraded connections included, until ctx is done; what is left then is cut
// off, and the error says how much. Blocks.
func (s *Server) Shutdown(ctx context.Context) error {
	s.ending.Store(true)
	err := s.main.Shutdown(ctx)
	if err == nil {
		err = s.running.wait(ctx) // Shutdown does not wait for upgraded connections
	}
	left := s.running.inside.Load()
	if err != nil {
		s.cut(errShutdown)
		last, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		_ = s.main.Shutdown(last) // an answer is on its way when its handler has returned
		_ = s.running.wait(last)
	}
	s.cut(errShutdown)
	_ = s.main.Close()
	if s.side != nil {
		_ = s.side.Close()
	}
	s.base.CloseIdleConnections()
	if err == nil || left == 0 {
		return nil
	}
	return fmt.Errorf("requests cut off because they took longer than the time to end: %d", left)
}
