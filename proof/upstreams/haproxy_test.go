package upstreams_test

import (
	"syscall"
	"testing"
)

// haproxy runs HAProxy with these lines in its only frontend, followed by
// whatever sections they end with.
func haproxy(t testing.TB, frontend string) *server {
	t.Helper()
	s := start(t, "haproxy", `
global
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
