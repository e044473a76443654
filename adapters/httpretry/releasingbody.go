package httpretry

import (
	"errors"
	"fmt"
	"io"
)

// releasing returns body so that release is called when it has been read to its
// end or closed. What can be written to stays so, for 101 Switching Protocols;
// there the end of one direction is not the end of the other, so only Close
// releases.
//
// What it returns can be compared, as net/http's bodies can: who keeps the open
// connections of a proxy, such as Caddy, keeps them as the keys of a map.
func releasing(body io.ReadCloser, release func()) io.ReadCloser {
	if conn, ok := body.(io.ReadWriteCloser); ok {
		return &releasingConn{conn, release}
	}
	return &releasingBody{body, release}
}

type releasingBody struct {
	body    io.ReadCloser
	release func()
}

func (r *releasingBody) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if err != nil {
		r.release()
	}
	return n, err
}

func (r *releasingBody) Close() error {
	err := r.body.Close()
	r.release()
	return err
}

// releasingConn is the connection that is the body of a 101.
type releasingConn struct {
	io.ReadWriteCloser
	release func()
}

func (r *releasingConn) Close() error {
	err := r.ReadWriteCloser.Close()
	r.release()
	return err
}

// CloseWrite ends what is written, where the connection can: net/http's can, and
// httputil.ReverseProxy asks for it.
func (r *releasingConn) CloseWrite() error {
	if conn, ok := r.ReadWriteCloser.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return fmt.Errorf("reprise/httpretry: CloseWrite: %w", errors.ErrUnsupported)
}
