package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/reprise-go/reprise/proof/upstreams/internal/child"
)

// report is what a run found.
type report struct {
	Schema  string    `json:"schema"`
	Began   time.Time `json:"began"`
	Seconds float64   `json:"seconds"`
	Go      string    `json:"go"`
	CPUs    int       `json:"cpus"`
	Blocks  int       `json:"blocks"`
	Paced   int       `json:"paced_blocks"`
	Rate    int       `json:"paced_requests_per_second"`
	Doors   []cost    `json:"doors"`
}

// cost is what one door costs.
type cost struct {
	Door    string   `json:"door"`
	Figures []figure `json:"figures"`
}

// targets are, in percent of the throughput, what a door may cost.
var targets = []struct {
	kind    string
	percent float64
}{{"net-http", 2}, {"fasthttp", 3}}

// mostAllocs is how many allocations a door may add to a request. Half of one
// more is the noise of pools that a collection empties.
const mostAllocs = 1.5

// measure runs the rounds of both doors in turn, before one upstream.
func measure(o options, progress io.Writer) (r report, err error) {
	r = report{Schema: "reprise.doorcost/1", Began: time.Now().UTC(), Go: runtime.Version(), CPUs: runtime.NumCPU(),
		Blocks: o.blocks, Paced: o.paced, Rate: o.rate}
	path, err := child.Find("wrk")
	if err != nil {
		return r, err
	}
	upstream, err := startGateway("-kind=upstream")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, upstream.Stop(syscall.SIGTERM)) }()
	full := wrk(path, o.connections)
	for _, target := range targets {
		p := pair{target.kind, strings.TrimPrefix(upstream.url, "http://")}
		_, _ = fmt.Fprintf(progress, "%s: %d blocks of wrk ", target.kind, o.blocks)
		fast, err := p.blocks(o.blocks, full, progress)
		if err != nil {
			return r, err
		}
		_, _ = fmt.Fprintf(progress, " %d of vegeta ", o.paced)
		steady, err := p.blocks(o.paced, paced(o.rate, o.last), progress)
		if err != nil {
			return r, err
		}
		_, _ = fmt.Fprintln(progress)
		short, err := alone(target.kind)
		if err != nil {
			return r, err
		}
		cpu := func(r round) float64 { return r.cpu }
		busy := compare("processor time", "us/request", fast, cpu, gained)
		share := func(bare, door float64) float64 { return 100 * (door - bare) / (1e3 * busy.Bare) }
		c := cost{Door: target.kind, Figures: []figure{
			compare("throughput", "requests/s", fast, func(r round) float64 { return r.throughput }, lost).against(target.percent),
			busy,
			compare("the door alone, of that", "ns/request", short, cpu, share).against(target.percent),
			compare("allocations", "objects/request", fast, func(r round) float64 { return r.allocs }, more).against(mostAllocs),
			compare("allocated", "bytes/request", fast, func(r round) float64 { return r.bytes }, more),
		}}
		if o.paced > 0 {
			c.Figures = append(c.Figures,
				compare("latency p50", "us", steady, func(r round) float64 { return r.p50 }, gained),
				compare("latency p99", "us", steady, func(r round) float64 { return r.p99 }, gained),
				compare("processor time, paced", "us/request", steady, cpu, gained))
		}
		r.Doors = append(r.Doors, c)
	}
	r.Seconds = time.Since(r.Began).Seconds()
	return r, nil
}

// print writes the report for a reader.
func (r report) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "%s, %d CPUs, %s; %d blocks bare-door-door-bare of wrk, %d of vegeta at %d/s; %.0f s\n\n",
		r.Began.Format(time.DateOnly), r.CPUs, r.Go, r.Blocks, r.Paced, r.Rate, r.Seconds)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "\t\tbare\tdoor\tthe door adds\t95 % interval\ttarget\theld\t")
	for _, c := range r.Doors {
		for _, f := range c.Figures {
			unit := " %"
			if strings.HasPrefix(f.Name, "alloc") {
				unit = ""
			}
			target := ""
			if f.Held != "" {
				target = fmt.Sprintf("<= %g%s", f.Target, unit)
			}
			_, _ = fmt.Fprintf(table, "%s\t%s (%s)\t%.4g\t%.4g\t%+.2f%s\t%+.2f to %+.2f\t%s\t%s\t\n",
				c.Door, f.Name, f.Unit, f.Bare, f.Door, f.Added, unit, f.Low, f.High, target, f.Held)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "\nThe interval holds the true median with 95 % at least; of fewer than 6 blocks it is the least and the greatest.")
	return err
}
