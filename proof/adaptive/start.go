package main

import (
	"fmt"
	"io"
	"time"

	"github.com/reprise-go/reprise/internal/sim"
)

// start is what clients do between New and their first overload.
type start struct {
	name   string
	phases []phase
}

// phase is a time at a load, of what the service takes.
type phase struct {
	lasts time.Duration
	load  float64
}

var idle = start{"idle for 10 min", []phase{{10 * time.Minute, 0}}}

// starts are at once, after nothing, and after traffic.
var starts = []start{
	{"nothing: they begin at once", nil},
	idle,
	{"0.5x for a minute, idle for 10 s", []phase{{time.Minute, 0.5}, {10 * time.Second, 0}}},
	{"0.5x for a minute", []phase{{time.Minute, 0.5}}},
	{"0.01x for a minute", []phase{{time.Minute, 0.01}}},
}

// firstMinute is how clients fare from the instant on at which their calls come at
// full load.
type firstMinute struct {
	start
	cell
}

// watched is how long a start is judged.
const watched = time.Minute

// firstMinutes are the starts of few and of many clients, at little and at much
// overload, before a bucket that lets nobody begin gently.
func firstMinutes() (out []firstMinute) {
	for _, s := range starts {
		for _, fleet := range fleets {
			for _, load := range []float64{1.5, 4} {
				out = append(out, firstMinute{s, cell{5000, fleet.clients, fleet.trip, load, 10 * time.Millisecond}})
			}
		}
	}
	return out
}

// run returns the use and the throttled share of the first minute.
func (f firstMinute) run(p sim.Policy) (use, throttled float64, err error) {
	s, before := f.scenario(watched), time.Duration(0)
	for _, phase := range f.phases {
		s.Faults = append(s.Faults, sim.Fault{Kind: sim.Crowd, Start: before, Length: phase.lasts, Amount: phase.load / f.load})
		before += phase.lasts
	}
	s.Duration, s.Sample = before+watched, time.Second
	var arrived, refused uint64
	_, err = sim.Run(s, p, sim.Watch{Sampled: func(p sim.Point) bool {
		if p.At > before && p.At <= s.Duration {
			arrived += p.Arrived
			refused += p.Throttled
		}
		return true
	}})
	return float64(arrived-refused) / (f.capacity * watched.Seconds()), float64(refused) / float64(max(arrived, 1)), err
}

const startHead = `
## The first minute

Of calls that come at full load all at once, before a service of 5,000 requests/s with a bucket of 10 ms. *before*: what the clients did until then.

| before | clients | round trip | offered | R8: use | throttled | ours: use | throttled |
|---|--:|--:|--:|--:|--:|--:|--:|
`

func reportStarts(out, progress io.Writer, window time.Duration) error {
	if _, err := io.WriteString(out, startHead); err != nil {
		return err
	}
	all := firstMinutes()
	type line struct {
		text string
		err  error
	}
	return inTurn(progress, len(all), func(i int) (l line) {
		f := all[i]
		l.text = fmt.Sprintf("| %s | %d | %v | %gx |", f.name, f.clients, f.trip, f.load)
		for _, p := range policies(window) {
			use, throttled, err := f.run(p)
			if err != nil {
				return line{err: err}
			}
			l.text += fmt.Sprintf(" %.1f %% | %s |", 100*use, share(throttled))
		}
		return l
	}, func(_ int, l line) error {
		if l.err != nil {
			return l.err
		}
		_, err := fmt.Fprintln(out, l.text)
		return err
	})
}
