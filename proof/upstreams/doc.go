// Package upstreams holds the doors against real servers on loopback: nginx and
// HAProxy as Debian has them (make servers installs them), and toxiproxy in
// process. What such a server sends, drops or cuts must mean here what RETRY.md
// says of it; and what an outage of it adds in load must stay within bounds. It
// exports nothing.
package upstreams
