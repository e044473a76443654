// Package scenario names the failures that a command line or a replay file can
// ask for, and makes the error values that a Go program would see for each: the
// classifier of the engine judges them as it judges real ones.
package scenario

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http2"
)

// Failure is a way for an attempt to fail without a response.
type Failure struct {
	Name string // as replay files and the command line spell it
	Help string // what happened, in a few words
	// Caller is the context of a caller who is no longer there, if that is why
	// the attempt failed; else nil.
	Caller context.Context

	make func() error
}

// Err returns the failure as an HTTP client returns it.
func (f *Failure) Err() error {
	return &url.Error{Op: "Post", URL: "https://" + host + "/", Err: f.make()}
}

// Failures are all there are, in the order in which help lists them.
var Failures = []Failure{
	{Name: "timeout", Help: "no answer in time on an open connection", make: func() error { return socket("read", os.ErrDeadlineExceeded) }},
	{Name: "attempt_timeout", Help: "the time set for one attempt ran out; the caller is still there", make: func() error { return context.DeadlineExceeded }},
	{Name: "dial_timeout", Help: "no connection in time", make: func() error { return socket("dial", os.ErrDeadlineExceeded) }},
	{Name: "refused", Help: "connection refused", make: func() error { return errno("dial", "connect", syscall.ECONNREFUSED) }},
	{Name: "unreachable", Help: "no route to the host", make: func() error { return errno("dial", "connect", syscall.EHOSTUNREACH) }},
	{Name: "reset", Help: "connection reset by the server", make: func() error { return errno("read", "read", syscall.ECONNRESET) }},
	{Name: "broken_pipe", Help: "the server closed while the request was written", make: func() error { return errno("write", "write", syscall.EPIPE) }},
	{Name: "closed", Help: "the connection was closed on this side", make: func() error { return socket("read", net.ErrClosed) }},
	{Name: "eof", Help: "the connection ended before a response", make: func() error { return io.EOF }},
	{Name: "unexpected_eof", Help: "the response was cut", make: func() error { return io.ErrUnexpectedEOF }},
	{Name: "goaway", Help: "the server ended the HTTP/2 connection", make: func() error {
		//lint:ignore SA1019 net/http's own is not exported, and this is what it is made from
		return http2.GoAwayError{LastStreamID: 1, ErrCode: http2.ErrCodeNo}
	}},
	{Name: "refused_stream", Help: "the server refused the HTTP/2 stream", make: func() error {
		return http2.StreamError{StreamID: 3, Code: http2.ErrCodeRefusedStream}
	}},
	{Name: "dns_temporary", Help: "the name server failed", make: func() error { return dns(net.DNSError{Err: "server misbehaving", IsTemporary: true}) }},
	{Name: "dns_timeout", Help: "the name server did not answer", make: func() error { return dns(net.DNSError{Err: "i/o timeout", IsTimeout: true, IsTemporary: true}) }},
	{Name: "dns_not_found", Help: "there is no such name (NXDOMAIN)", make: func() error { return dns(net.DNSError{Err: "no such host", IsNotFound: true}) }},
	{Name: "tls_certificate", Help: "the server's certificate does not verify", make: func() error {
		return &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	}},
	{Name: "bad_url", Help: "the request has no valid URL", make: badURL},
	{Name: "too_many_files", Help: "this machine has no file descriptor left", make: func() error { return errno("dial", "socket", syscall.EMFILE) }},
	{Name: "cancelled", Help: "the caller gave up", Caller: cancelled(), make: func() error { return context.Canceled }},
	{Name: "deadline", Help: "the caller's deadline passed", Caller: late(), make: func() error { return context.DeadlineExceeded }},
}

// Find returns the failure of that name. The error lists the names there are.
func Find(name string) (*Failure, error) {
	for i := range Failures {
		if Failures[i].Name == name {
			return &Failures[i], nil
		}
	}
	return nil, fmt.Errorf("unknown error %q: want %s", Shorten(name), strings.Join(Names(), ", "))
}

// Shorten keeps what a user or a file says from filling the screen.
func Shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// Names returns the names of all failures.
func Names() []string {
	names := make([]string, len(Failures))
	for i, f := range Failures {
		names[i] = f.Name
	}
	return names
}

// Where the failing attempts went: a name and an address for documentation
// (RFC 2606, RFC 5737).
var host = "service.example"

var server = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}

func socket(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: server, Err: err}
}

func errno(op, call string, number syscall.Errno) error {
	return socket(op, os.NewSyscallError(call, number))
}

func dns(e net.DNSError) error {
	e.Name, e.Server = host, "192.0.2.53:53"
	return &net.OpError{Op: "dial", Net: "tcp", Err: &e}
}

func badURL() error {
	_, err := url.Parse("https://[" + host + "/")
	return err
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func late() context.Context {
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	cancel()
	return ctx
}
