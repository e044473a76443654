package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Work is something whose end is known: how much of it is done, 0 to 1, and what to
// say of it.
type Work interface {
	Share() float64
	String() string
}

// Bar draws the work on the terminal w until the function it returns is called; that
// takes the drawing away again.
func Bar(w io.Writer, name string, work Work) (stop func()) {
	bars := mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(refreshInterval), mpb.WithWidth(30))
	style := mpb.BarStyle().Lbound("[").Filler("=").Tip("=").Padding(" ").Rbound("]")
	bar := bars.New(0, style,
		mpb.PrependDecorators(decor.Name(name)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return work.String() })))
	bar.SetTotal(runSteps, false)
	stopLooking := every(refreshInterval, func() { bar.SetCurrent(int64(work.Share() * runSteps)) })
	return func() {
		stopLooking()
		bar.Abort(true)
		bars.Wait()
	}
}

// BarLines writes a line about the work to w each second, until the function
// it returns is called.
func BarLines(w io.Writer, name string, work Work) (stop func()) {
	return every(time.Second, func() {
		// A reader of the progress that has gone is no reason to end the work.
		_, _ = fmt.Fprintf(w, "%s  %3.0f %%  %s\n", name, 100*work.Share(), work)
	})
}
