package faulty

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// CalmPath answers [OK] whatever the mix says, and is not counted: for
// measuring the client alone.
const CalmPath = "/calm"

// Options say how a [Server] fails. The zero value answers every request OK.
type Options struct {
	Mix    Mix
	Outage Outage
	// Progress is how far the run is, 0 to 1, safe for many goroutines at
	// once. Nil stands for 0: before any outage.
	Progress func() float64
	// Seed picks the sequence of faults.
	Seed uint64
	// SlowDelay is how late a [Slow] answer is; 0 is not late at all.
	SlowDelay time.Duration
	// Latency is how long every answer takes at the least, throttles included.
	Latency time.Duration
	// Capacity is how many requests per second are let through to draw from the
	// mix, [Burst] of them at once after a pause; the others are throttled. 0 is
	// no limit.
	Capacity float64
}

// Burst is how many requests a server of the given capacity, per second, lets
// through at once when it was idle: a second's worth.
func Burst(capacity float64) int { return max(1, int(capacity)) }

// Server is a running faulty server. Make one with [Start].
type Server struct {
	opts   Options
	url    string
	http   *http.Server
	served chan error    // the end of Serve
	closed chan struct{} // closed by Close: slow answers stop waiting
	hits   atomic.Uint64
	byKind [kinds]atomic.Uint64

	capacity *rate.Limiter // nil for no limit
	refused  atomic.Uint64 // by the capacity
}

// Start listens on a free port of 127.0.0.1 and serves until [Server.Close].
func Start(opts Options) (*Server, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	s := &Server{
		opts:   opts,
		url:    "http://" + listener.Addr().String(),
		served: make(chan error, 1),
		closed: make(chan struct{}),
	}
	if opts.Capacity > 0 {
		s.capacity = rate.NewLimiter(rate.Limit(opts.Capacity), Burst(opts.Capacity))
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.handle),
		ErrorLog:          log.New(io.Discard, "", 0), // aborted connections are the point
		ReadHeaderTimeout: time.Minute,
	}
	go func() { s.served <- s.http.Serve(listener) }()
	return s, nil
}

// URL is where the server listens, such as "http://127.0.0.1:40000".
func (s *Server) URL() string { return s.url }

// Hits is how many requests have arrived, whatever became of them.
func (s *Server) Hits() uint64 { return s.hits.Load() }

// Throttled is how many requests were above the capacity. For them nothing was
// drawn.
func (s *Server) Throttled() uint64 { return s.refused.Load() }

// Served is how many requests each kind of fault was drawn for.
func (s *Server) Served() [kinds]uint64 {
	var out [kinds]uint64
	for i := range s.byKind {
		out[i] = s.byKind[i].Load()
	}
	return out
}

// Close stops listening, ends slow answers, and waits up to two seconds for
// the handlers before it closes their connections. Call it once.
func (s *Server) Close() error {
	close(s.closed)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	if end := <-s.served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == CalmPath {
		answerOK(w)
		return
	}
	n := s.hits.Add(1)
	if s.capacity != nil && !s.capacity.Allow() {
		s.refused.Add(1)
		if s.wait(r, s.opts.Latency) {
			answerThrottled(w)
		}
		return
	}
	kind := s.draw(n)
	s.byKind[kind].Add(1)
	if !s.wait(r, s.opts.Latency) {
		return
	}
	switch kind {
	case Status500:
		answer(w, http.StatusInternalServerError, "application/json", `{"message":"The request processing has failed because of an unknown error."}`)
	case Status503:
		answer(w, http.StatusServiceUnavailable, "text/html", unavailablePage)
	case Throttle:
		answerThrottled(w)
	case RetryAfter:
		s.answerRetryAfter(w, n)
	case Reset:
		reset(w)
	case Cut:
		cut(w)
	case Slow:
		if s.wait(r, s.opts.SlowDelay) {
			answerOK(w)
		}
	default:
		answerOK(w)
	}
}

// draw is the kind of the n-th request.
func (s *Server) draw(n uint64) Kind {
	var progress float64
	if s.opts.Progress != nil {
		progress = s.opts.Progress()
	}
	_, intensity := s.opts.Outage.At(progress)
	u := float64(mixBits(s.opts.Seed, n)>>11) / (1 << 53)
	return s.opts.Mix.at(intensity).pick(u)
}

// answerRetryAfter asks for 50 to 305 ms, on 500 and 503 in turn.
func (s *Server) answerRetryAfter(w http.ResponseWriter, n uint64) {
	bits := mixBits(^s.opts.Seed, n)
	w.Header().Set("x-amz-retry-after", strconv.FormatUint(50+bits&0xff, 10))
	status := http.StatusInternalServerError
	if bits>>63 == 1 {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, "application/json", `{"message":"Try again later."}`)
}

// wait returns after d, or as soon as the server is closed; false if the client
// has gone, and no answer is wanted.
func (s *Server) wait(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return false
	case <-s.closed:
	}
	return true
}

// mixBits is the n-th output of the SplitMix64 generator that starts at seed: a
// draw that needs no state, so arrivals do not contend for it.
func mixBits(seed, n uint64) uint64 {
	z := seed + n*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
