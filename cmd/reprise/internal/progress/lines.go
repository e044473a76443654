package progress

import (
	"fmt"
	"io"
	"time"
)

// Lines writes a line about the run to w each second, until the function it
// returns is called. phases says whether the lines name the phase.
func Lines(w io.Writer, s source, phases bool) (stop func()) {
	m := meter{source: s}
	return every(time.Second, func() {
		r := m.look()
		line := fmt.Sprintf("%3.0f s  %8d calls  %7.0f calls/s  %6s ok  %6.0f retries/s  quota %3d/%d",
			r.now.Elapsed.Seconds(), r.now.Ended(), r.callsPerSec, r.success(), r.retriesPerSec, r.now.Level, r.now.Capacity)
		if fill := r.fill(); fill != "" {
			line += "  " + fill
		}
		if phases {
			line += "  " + r.now.Phase.String()
		}
		// A reader of the progress that has gone is no reason to end the run.
		_, _ = fmt.Fprintln(w, line)
	})
}

// every calls do at each interval until stop is called; stop returns when do
// will not be called any more.
func every(interval time.Duration, do func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				do()
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}
