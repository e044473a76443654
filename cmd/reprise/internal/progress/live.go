package progress

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

const (
	refreshInterval = 100 * time.Millisecond
	// runSteps is the length of the run's bar in steps.
	runSteps = 1000
)

// Live draws the run on the terminal w until the function it returns is
// called; that takes the drawing away again. done is how far the run is, 0 to
// 1; phases says whether to name the phase.
func Live(w io.Writer, s source, done func() float64, phases bool) (stop func()) {
	var shown atomic.Pointer[rates]
	m := meter{source: s}
	first := m.look()
	shown.Store(&first)

	bars := mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(refreshInterval), mpb.WithWidth(60))
	text := func(of func(rates) string) decor.Decorator {
		return decor.Any(func(decor.Statistics) string { return of(*shown.Load()) }, decor.WCSyncSpaceR)
	}
	style := mpb.BarStyle().Lbound("[").Filler("=").Tip("=").Padding(" ").Rbound("]")
	// A bar that is made without a total does not end itself when it is full:
	// the quota is full most of the time.
	run := bars.New(0, style, mpb.BarPriority(0),
		mpb.PrependDecorators(decor.Name("run", decor.WCSyncWidthR)),
		mpb.AppendDecorators(text(func(r rates) string {
			line := fmt.Sprintf("%.1f s", r.now.Elapsed.Seconds())
			if phases {
				line += "  " + r.now.Phase.String()
			}
			return line
		})))
	run.SetTotal(runSteps, false)
	quota := bars.New(0, style, mpb.BarPriority(1),
		mpb.PrependDecorators(decor.Name("quota", decor.WCSyncWidthR)),
		mpb.AppendDecorators(text(func(r rates) string { return fmt.Sprintf("%d of %d tokens", r.now.Level, r.now.Capacity) })),
		mpb.BarExtender(mpb.BarFillerFunc(func(w io.Writer, _ decor.Statistics) error {
			r := *shown.Load()
			_, err := fmt.Fprintf(w, "%d calls  %.0f calls/s  %s ok  %.0f retries/s  %s\n",
				r.now.Ended(), r.callsPerSec, r.success(), r.retriesPerSec, r.fill())
			return err
		}), false))
	quota.SetTotal(int64(first.now.Capacity), false)
	quota.SetCurrent(int64(first.now.Level))

	stopLooking := every(refreshInterval, func() {
		r := m.look()
		shown.Store(&r)
		run.SetCurrent(int64(done() * runSteps))
		quota.SetCurrent(int64(r.now.Level))
	})
	return func() {
		stopLooking()
		run.Abort(true)
		quota.Abort(true)
		bars.Wait()
	}
}
