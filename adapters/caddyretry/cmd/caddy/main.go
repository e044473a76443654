// Command caddy is Caddy with its standard modules and the transport of
// adapters/caddyretry.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/reprise-go/reprise/adapters/caddyretry"
)

func main() {
	caddycmd.Main()
}
