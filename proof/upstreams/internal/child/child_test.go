package child_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/proof/upstreams/internal/child"
)

// A server that is missing fails its test with the way out.
func TestFind(t *testing.T) {
	_, err := child.Find("no-such-server")
	assert.ErrorContains(t, err, "make servers")
	path, err := child.Find("sh")
	require.NoError(t, err)
	assert.FileExists(t, path)
}

// A server that ends at once is not waited for, and its port is closed.
func TestEndsAtOnce(t *testing.T) {
	socket, addr, err := child.Socket("127.0.0.1:0")
	require.NoError(t, err)
	cmd := exec.Command("sh", "-c", "exit 3")
	cmd.ExtraFiles = []*os.File{socket}
	p, err := child.Start(cmd)
	require.NoError(t, err)
	assert.ErrorContains(t, p.Ready("http://"+addr, &http.Transport{}), "is not ready")
	require.NoError(t, p.Stop(syscall.SIGTERM), "having ended is no error")
	_, err = net.Dial("tcp", addr)
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestStop(t *testing.T) {
	p, err := child.Start(exec.Command("sleep", "600"))
	require.NoError(t, err)
	require.NoError(t, p.Stop(syscall.SIGTERM))
	assert.ErrorIs(t, syscall.Kill(p.Pid(), 0), syscall.ESRCH)
}
