// Package caddyretry is a transport for Caddy.
package caddyretry
