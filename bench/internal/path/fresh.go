package path

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

const freshEnv = "REPRISE_BENCH_FRESH"

// FreshMain is what a process does that was started for a fresh side: it does its
// work, prints what came of it and ends. In any other process it does nothing. It
// comes first in main and in TestMain.
func FreshMain() {
	name, impl, ok := strings.Cut(os.Getenv(freshEnv), " ")
	if !ok {
		return
	}
	p, _ := Find(name)
	s, ok := p.Side(impl)
	if !ok || s.Fresh == nil {
		fmt.Fprintf(os.Stderr, "reprise/bench: no fresh side path=%s/impl=%s\n", name, impl)
		os.Exit(2)
	}
	n, elapsed := s.Fresh()
	fmt.Println(n, int64(elapsed))
	os.Exit(0)
}

// RunFresh runs a fresh side in a process made for it, which is this program
// again.
func (p Path) RunFresh(s Side) (n int, elapsed time.Duration, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), freshEnv+"="+p.Name+" "+s.Impl)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("reprise/bench: path=%s/impl=%s in a process of its own: %w", p.Name, s.Impl, err)
	}
	if _, err = fmt.Sscan(string(out), &n, &elapsed); err != nil || n < 1 {
		return 0, 0, fmt.Errorf("reprise/bench: path=%s/impl=%s in a process of its own printed %q: want operations and nanoseconds", p.Name, s.Impl, out)
	}
	return n, elapsed, nil
}
