package proxy

import (
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// replicas sends each attempt to one of an upstream's URLs: the first of a call
// to the next in turn, a retry to the one after the call's last.
type replicas struct {
	base http.RoundTripper
	all  []*replica
	turn atomic.Uint32 // counts first attempts; wraps around
}

// passOver is how long a URL to which no connection could be made is left alone.
const passOver = time.Second

// replica is one URL of an upstream.
type replica struct {
	url *url.URL

	attempts atomic.Uint64
	failures atomic.Uint64 // attempts that got no answer

	// downUntil is when the URL may be asked again, in nanoseconds since epoch;
	// 0: at any time.
	// Writers: an attempt that got no connection, and one that did; past the time, the
	//          attempt whose CAS moves it on is the one that finds out how the URL
	//          is.
	downUntil atomic.Int64
}

var epoch = time.Now()

// RoundTrip sends one attempt.
func (rs *replicas) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req)
	c.attempts.Add(1)
	if len(rs.all) == 1 {
		return rs.all[0].send(rs.base, req)
	}
	n := rs.pick(int(c.last.Load()))
	c.last.Store(int32(n + 1))
	r := rs.all[n]
	var connected atomic.Bool
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	if n > 0 { // the request is for the first
		u := *req.URL
		u.Scheme, u.Host = r.url.Scheme, r.url.Host
		req.URL = &u
	}
	resp, err := r.send(rs.base, req)
	switch {
	case connected.Load():
		if r.downUntil.Load() != 0 {
			r.downUntil.Store(0)
		}
	case err != nil && c.Err() == nil: // refused, or the attempt's time was over before there was a connection
		r.downUntil.Store(int64(time.Since(epoch) + passOver))
	}
	return resp, err
}

// send sends the attempt to the replica.
func (r *replica) send(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	r.attempts.Add(1)
	resp, err := base.RoundTrip(req)
	if err != nil {
		r.failures.Add(1)
	}
	return resp, err
}

// pick returns the number of the replica to ask after the last one, from 1, that
// the call has asked; 0 if this is its first attempt.
func (rs *replicas) pick(last int) int {
	start := last
	if last == 0 {
		start = int(rs.turn.Add(1) - 1)
	}
	for i := range rs.all {
		n := (start + i) % len(rs.all)
		if rs.all[n].up() {
			return n
		}
	}
	return start % len(rs.all)
}

// up reports whether the replica may be asked. Of those who ask when its time is
// over, one gets yes.
func (r *replica) up() bool {
	until := r.downUntil.Load()
	if until == 0 {
		return true
	}
	now := int64(time.Since(epoch))
	return now >= until && r.downUntil.CompareAndSwap(until, now+int64(passOver))
}

// passedOver reports whether the replica is left alone at present.
func (r *replica) passedOver() bool { return r.downUntil.Load() > int64(time.Since(epoch)) }
