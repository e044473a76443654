// Command sidebyside measures the engine beside its peers.
//
//	sidebyside ratios    prints the project's ratios, in under three minutes
//	sidebyside full      measures every path and writes the raw file, the table and the page
//	sidebyside report    makes table and page of a raw file anew
//
// Results go to stdout or into files, progress to stderr.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/reprise-go/reprise/bench/internal/path"
)

func main() {
	path.FreshMain()
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func command(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("reprise/bench: no command: want ratios, full or report")
	}
	flags := flag.NewFlagSet("sidebyside "+args[0], flag.ExitOnError)
	switch args[0] {
	case "ratios":
		return ratios(flags, args[1:])
	case "full":
		return full(flags, args[1:])
	case "report":
		return again(flags, args[1:])
	}
	return fmt.Errorf("reprise/bench: unknown command %q: want ratios, full or report", args[0])
}
