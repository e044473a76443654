package upstreams_test

import "testing"

// nginx runs nginx with these directives in its http block and its server block.
// A master it must have: without one nginx 1.22 dies of a socket that it is given.
func nginx(t testing.TB, http, server string) *server {
	t.Helper()
	s := startNginx(t, http, "", server)
	s.ready(t, s.url+"/ready")
	return s
}

// startNginx does not wait; listen are parameters of its listen directive.
func startNginx(t testing.TB, http, listen, server string) *server {
	t.Helper()
	return start(t, "nginx", `
daemon off;
worker_processes 1;
worker_shutdown_timeout 300ms; # for connections that were dialled and never used
pid DIR/pid;
error_log DIR/error notice;
events { worker_connections 1024; }
http {
	log_format seen '$msec $request_method $uri $status "$http_x_call"';
	access_log DIR/access seen;
	default_type text/plain;
	client_body_temp_path DIR/body;
	proxy_temp_path DIR/proxy;
	fastcgi_temp_path DIR/fastcgi;
	uwsgi_temp_path DIR/uwsgi;
	scgi_temp_path DIR/scgi;
	`+http+`
	server {
		listen ADDRESS `+listen+`;
		location = /ready { access_log off; return 204; }
		`+server+`
	}
}
`, []string{"NGINX=3;"}, "-c", "DIR/config", "-p", "DIR", "-e", "DIR/error")
}
