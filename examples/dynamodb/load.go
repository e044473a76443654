package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// load is calls that come at their times, whether earlier ones are over or not.
type load struct {
	calls     int
	perSecond int
	deadline  time.Duration
}

// report is how a client fared.
type report struct {
	name      string
	made      [phases]int     // calls
	answered  [phases]int     // of those, the ones that succeeded
	succeeded []time.Duration // what each took, sorted
	failed    []time.Duration
	requests  int // on the wire
	rejected  int // of those, throttled
	tokens    int // left in the retry quota
}

func (l load) run(ctx context.Context, db *faulty, client *dynamodb.Client) (r report, err error) {
	if err := fill(ctx, client); err != nil {
		return r, err
	}
	var mu sync.Mutex
	var calling sync.WaitGroup
	tick := time.NewTicker(time.Second / time.Duration(l.perSecond))
	defer tick.Stop()
	for i := range l.calls {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return r, ctx.Err()
		}
		in := phase(int(phases) * i / l.calls)
		db.enter(in)
		calling.Go(func() {
			start := time.Now()
			err := call(ctx, client, l.deadline)
			took := time.Since(start)
			mu.Lock()
			defer mu.Unlock()
			r.made[in]++
			if err == nil {
				r.answered[in]++
				r.succeeded = append(r.succeeded, took)
			} else {
				r.failed = append(r.failed, took)
			}
		})
	}
	calling.Wait()
	slices.Sort(r.succeeded)
	slices.Sort(r.failed)
	r.requests, r.rejected = db.counts()
	return r, ctx.Err()
}

// percentile is of a sorted list.
func percentile(sorted []time.Duration, p int) string {
	if len(sorted) == 0 {
		return "-"
	}
	at := sorted[min(len(sorted)-1, len(sorted)*p/100)]
	return fmt.Sprintf("%.1f ms", float64(at.Microseconds())/1000)
}

func share(n, of int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(1, of))) }

// table is the reports side by side.
func table(l load, reports ...report) string {
	w := pretty.NewWriter()
	w.SetStyle(pretty.StyleLight)
	w.SetTitle("%d calls, %d a second, %v for each;\nthe server fails %.0f %%\nand, in the middle third, throttles %.0f %%",
		l.calls, l.perSecond, l.deadline, 100*failing, 100*throttling)
	head, columns := pretty.Row{""}, []pretty.ColumnConfig{}
	for i, r := range reports {
		head = append(head, r.name)
		columns = append(columns, pretty.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	w.AppendHeader(head)
	w.SetColumnConfigs(columns)
	for _, row := range []struct {
		name string
		of   func(report) string
	}{
		{"calls that succeeded", func(r report) string { return share(len(r.succeeded), len(r.succeeded)+len(r.failed)) }},
		{"  before it throttles", func(r report) string { return share(r.answered[before], r.made[before]) }},
		{"  while it throttles", func(r report) string { return share(r.answered[throttled], r.made[throttled]) }},
		{"  after it throttled", func(r report) string { return share(r.answered[after], r.made[after]) }},
		{"p50 of calls that succeeded", func(r report) string { return percentile(r.succeeded, 50) }},
		{"p99 of calls that succeeded", func(r report) string { return percentile(r.succeeded, 99) }},
		{"p50 of calls that failed", func(r report) string { return percentile(r.failed, 50) }},
		{"p99 of calls that failed", func(r report) string { return percentile(r.failed, 99) }},
		{"requests on the wire", func(r report) string { return fmt.Sprint(r.requests) }},
		{"of these, throttled", func(r report) string { return fmt.Sprint(r.rejected) }},
		{"tokens left of 500", func(r report) string { return fmt.Sprint(r.tokens) }},
	} {
		line := pretty.Row{row.name}
		for _, r := range reports {
			line = append(line, row.of(r))
		}
		w.AppendRow(line)
	}
	return w.Render() + "\n"
}
