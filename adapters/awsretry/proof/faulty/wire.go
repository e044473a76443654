package faulty

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// Wire is a network without a network: a listener, and the dialer that reaches
// it, joined by pairs of net.Pipe. What waits on it waits durably in the sense of
// testing/synctest.
type Wire struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Serve serves handler on a new wire. stop ends it and every connection, and
// returns when nothing is answered any more.
func Serve(handler http.Handler) (wire *Wire, stop func()) {
	wire = &Wire{conns: make(chan net.Conn), closed: make(chan struct{})}
	var open sync.WaitGroup
	server := &http.Server{Handler: handler, ConnState: func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed, http.StateHijacked:
			open.Done()
		}
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(wire)
	}()
	return wire, func() {
		_ = server.Close()
		<-done
		open.Wait()
	}
}

// DialContext connects to the wire, whatever the address.
func (w *Wire) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	client, server := &end{Conn: near}, &end{Conn: far}
	server.other = client
	select {
	case w.conns <- server:
		return client, nil
	case <-w.closed:
		return nil, &net.OpError{Op: "dial", Net: "wire", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept, Close and Addr make it a net.Listener.
func (w *Wire) Accept() (net.Conn, error) {
	select {
	case conn := <-w.conns:
		return conn, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (w *Wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// Addr has no meaning on a wire.
func (w *Wire) Addr() net.Addr { return &net.UnixAddr{Name: "wire", Net: "wire"} }

// end is one end of a connection. What was reset reads as a TCP connection does.
type end struct {
	net.Conn
	other  *end
	broken atomic.Bool
}

// reset makes the other end's next read fail as after a TCP reset.
func (e *end) reset() { e.other.broken.Store(true) }

func (e *end) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	if err != nil && e.broken.Load() {
		err = &net.OpError{Op: "read", Net: "wire", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	}
	return n, err
}
