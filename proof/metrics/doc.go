// Package metrics lets a Prometheus, as Debian has it (make servers installs it),
// scrape a running reprise proxy, and asks it for what was sent; and it holds the
// alert rules and the board of adapters/promretry against promtool. It exports
// nothing.
package metrics
