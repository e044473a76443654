package faulty

import (
	"context"
	"io"
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

// end is one end of a connection. It fails as one of TCP does, and not as a pipe.
type end struct {
	net.Conn
	other  *end
	broken atomic.Bool // by the other end
	closed atomic.Bool // by this one
}

// reset makes the other end's next read fail as after a TCP reset.
func (e *end) reset() { e.other.broken.Store(true) }

func (e *end) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	switch {
	case err == nil:
	case e.broken.Load():
		err = &net.OpError{Op: "read", Net: "wire", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	case err == io.ErrClosedPipe:
		err = &net.OpError{Op: "read", Net: "wire", Err: net.ErrClosed}
	}
	return n, err
}

// Write succeeds although the other end is gone: what is written to a socket is
// out of sight, and it is the next read that fails.
func (e *end) Write(p []byte) (int, error) {
	n, err := e.Conn.Write(p)
	if err == io.ErrClosedPipe {
		if !e.closed.Load() {
			return len(p), nil
		}
		err = &net.OpError{Op: "write", Net: "wire", Err: net.ErrClosed}
	}
	return n, err
}

func (e *end) Close() error {
	e.closed.Store(true)
	return e.Conn.Close()
}
