package faulty

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Proxy passes requests on to the service behind it, but for those that a fault
// answers. It is safe for use by many goroutines.
type Proxy struct {
	service http.Handler

	mu     sync.Mutex
	choose func(n int) Fault
	seen   []Request
}

// Request is what came over the wire.
type Request struct {
	At         time.Time // when it came
	Operation  string    // X-Amz-Target without the service
	Attempt    string    // Amz-Sdk-Request
	Invocation string    // Amz-Sdk-Invocation-Id
	Signed     time.Time // X-Amz-Date, what the signer took for the present
	Body       string    // as it was sent
}

// NewProxy returns a proxy before service, without faults.
func NewProxy(service http.Handler) *Proxy { return &Proxy{service: service} }

// Script forgets what was seen, answers the next requests with these faults in
// turn, and passes on what comes after them.
func (p *Proxy) Script(faults ...Fault) {
	p.Choose(func(n int) Fault {
		if n < len(faults) {
			return faults[n]
		}
		return nil
	})
}

// Choose forgets what was seen and asks choose about each request, from 0; nil
// passes it on. choose is called by one goroutine at a time.
func (p *Proxy) Choose(choose func(n int) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.choose, p.seen = choose, nil
}

// Seen returns the requests that came since the last Script or Choose.
func (p *Proxy) Seen() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.seen...)
}

// ServeHTTP answers a request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	// The SDK closes a request's body as soon as there is an answer, and the connection
	// is closed with it if net/http has not yet seen the body's end. In virtual time a
	// nanosecond goes by when everybody waits, so then it has.
	<-time.After(time.Nanosecond)
	target := r.Header.Get("X-Amz-Target")
	seen := Request{
		At:         time.Now(),
		Operation:  target[strings.LastIndexByte(target, '.')+1:],
		Attempt:    r.Header.Get("Amz-Sdk-Request"),
		Invocation: r.Header.Get("Amz-Sdk-Invocation-Id"),
		Body:       string(body),
	}
	seen.Signed, _ = time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))

	p.mu.Lock()
	var fault Fault
	if p.choose != nil {
		fault = p.choose(len(p.seen))
	}
	p.seen = append(p.seen, seen)
	p.mu.Unlock()
	if fault == nil {
		fault = Pass
	}
	fault(w, r, p.service)
}
