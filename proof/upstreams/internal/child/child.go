// Package child runs servers as child processes on loopback. A server gets its
// listening socket from its parent, so no port is ever guessed, and a request
// that comes before it is ready waits instead of failing.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Patience bounds the start and the end of a child.
const Patience = 20 * time.Second

// Find returns the path of a server's program. Debian keeps servers out of the
// PATH of users who are not root.
func Find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("upstreams: the program %q is not installed: make servers installs it (on Debian, as root)", name)
}

// Process is a server that runs.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how; after done
}

// Socket returns a listening socket for a child's ExtraFiles, where the first is
// its descriptor 3, and its address. An address of port 0 gets a free one.
func Socket(addr string) (*os.File, string, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, "", err
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	return file, listener.Addr().String(), err
}

// Start starts cmd, which is told to end when this process does, and closes this process's
// copies of its ExtraFiles, so that its port is closed when it has ended.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	err := cmd.Start()
	for _, file := range cmd.ExtraFiles {
		_ = file.Close()
	}
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Ready asks for url, once, through by, and waits until the server has answered,
// whatever the status. It fails if the server ends before that.
func (p *Process) Ready(url string, by *http.Transport) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	go func() {
		select {
		case <-p.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	defer by.CloseIdleConnections()
	response, err := by.RoundTrip(request)
	if err != nil {
		return errors.Join(fmt.Errorf("upstreams: %s (pid %d) is not ready", p.cmd.Path, p.Pid()), err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return response.Body.Close()
}

// Pid returns the process's id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Stop sends the signal that ends the process well, waits for that, and kills it
// if it takes too long. A process that has ended is no error.
func (p *Process) Stop(signal os.Signal) error {
	_ = p.cmd.Process.Signal(signal)
	patience := time.NewTimer(Patience)
	defer patience.Stop()
	select {
	case <-p.done:
		return nil
	case <-patience.C:
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return fmt.Errorf("upstreams: %s (pid %d) did not end by %v within %v and was killed", p.cmd.Path, p.Pid(), signal, Patience)
}
