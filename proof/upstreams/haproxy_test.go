package upstreams_test

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// haproxy runs HAProxy with these lines in its only frontend, followed by
// whatever sections they end with.
func haproxy(t testing.TB, frontend string) *server {
	t.Helper()
	s := start(t, "haproxy", `
global
	nbthread 1 # of two, one may drop its line of the log where the other is writing
	log stdout format raw local0
	stats socket DIR/stats level admin
	maxconn 4000
	no strict-limits
	hard-stop-after 300ms
defaults
	mode http
	log global
	retries 0
	timeout connect 2s
	timeout client 20s
	timeout server 20s
frontend door
	bind fd@3
	monitor-uri /ready
	http-request capture req.hdr(X-Call) len 64
	log-format "%Ts.%ms %HM %HP %ST \"%[capture.req.hdr(0)]\""
`+frontend, nil, "-f", "DIR/config", "-db")
	s.gently = syscall.SIGUSR1
	s.ready(t, s.url+"/ready")
	return s
}

// moody is a frontend whose answer is one word that set changes: live, 503, or
// reject, which hangs up.
const moody = `
	http-request set-var(txn.mode) str(all),map(DIR/mode)
	http-request deny deny_status 503 if { var(txn.mode) -m str 503 }
	http-request reject if { var(txn.mode) -m str reject }
	http-request return status 200 content-type text/plain string live
`

// set changes the mood, and returns when it counts.
func (s *server) set(t testing.TB, mode string) {
	t.Helper()
	admin, err := net.Dial("unix", filepath.Join(s.dir, "stats"))
	require.NoError(t, err)
	defer admin.Close()
	_, err = fmt.Fprintf(admin, "set map %s all %s\n", filepath.Join(s.dir, "mode"), mode)
	require.NoError(t, err)
	said, err := io.ReadAll(admin)
	require.NoError(t, err)
	assert.Empty(t, string(said[:max(0, len(said)-1)]))
}
