package storm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/figure"
	"github.com/reprise-go/reprise/internal/sim"
)

// fact is one line of a scenario in words.
type fact struct{ Name, Text string }

// words say what a scenario is.
func words(s sim.Scenario) []fact {
	facts := []fact{{"Load", loadWords(&s)}}
	for i, l := range s.Layers {
		facts = append(facts, fact{layerName(i), layerWords(l)})
	}
	facts = append(facts, fact{"Service", serverWords(s.WithDefaults().Server)})
	for _, f := range s.Faults {
		facts = append(facts, fact{"Fault", faultWords(f)})
	}
	return facts
}

func layerName(i int) string {
	if i == 0 {
		return "Clients"
	}
	return fmt.Sprintf("Layer %d", i+1)
}

func loadWords(s *sim.Scenario) string {
	var parts []string
	l := s.Load
	if l.Rate > 0 {
		how := "at random (Poisson)"
		if l.Paced {
			how = "evenly spaced"
		}
		parts = append(parts, fmt.Sprintf("%s calls a second, %s", decimal(l.Rate), how))
	}
	if l.Swing > 0 {
		parts = append(parts, fmt.Sprintf("the rate swings by %s every %s", percentOf(l.Swing), timeWords(l.Period)))
	}
	for _, b := range l.Bursts {
		parts = append(parts, fmt.Sprintf("%s calls at one instant after %s", decimal(float64(b.Calls)), timeWords(b.At)))
	}
	if l.Loops > 0 {
		parts = append(parts, fmt.Sprintf("%s loops that call again when they have their answer", decimal(float64(l.Loops))))
		if l.Think > 0 {
			parts = append(parts, "and have thought for "+timeWords(l.Think)+" in the mean")
		}
	}
	if l.Hot > 0 {
		parts = append(parts, percentOf(l.Hot)+" of the calls for one key")
	}
	if l.LongPoll {
		parts = append(parts, "long polls")
	}
	return strings.Join(append(parts, "for "+timeWords(s.Duration)), ", ")
}

func layerWords(l sim.Layer) string {
	who := decimal(float64(l.Callers)) + " callers, each with an engine of its own"
	if l.Callers == 1 {
		who = "one caller"
	}
	parts := []string{who}
	if l.Once {
		parts = append(parts, "which never retry")
	}
	add := func(d time.Duration, text string) {
		if d > 0 {
			parts = append(parts, timeWords(d)+" "+text)
		}
	}
	add(l.Deadline, "for a call")
	add(l.Timeout, "for an attempt")
	add(l.Latency, "each way")
	return strings.Join(parts, ", ")
}

var shapeWords = map[sim.Shape]string{sim.Fixed: "always", sim.Exponential: "exponential", sim.Lognormal: "lognormal"}

func serverWords(v sim.Server) string {
	var parts []string
	if v.Shards > 1 {
		parts = append(parts, fmt.Sprintf("%d shards, each with", v.Shards))
	}
	switch {
	case v.Workers > 0 && v.Service.Mean > 0:
		parts = append(parts, fmt.Sprintf("%d workers that take %s (%s), %s requests a second, and a queue of %s",
			v.Workers, timeWords(v.Service.Mean), shapeWords[v.Service.Shape], decimal(float64(v.Workers)/v.Service.Mean.Seconds()), decimal(float64(v.Queue))))
	case v.Service.Mean > 0:
		parts = append(parts, fmt.Sprintf("any number of workers, which take %s (%s)", timeWords(v.Service.Mean), shapeWords[v.Service.Shape]))
	default:
		parts = append(parts, "answers at once")
	}
	if v.Contention > 0 {
		parts = append(parts, "slower the more it has to do")
	}
	if v.Patience > 0 {
		parts = append(parts, "requests that have waited for "+timeWords(v.Patience)+" are refused")
	}
	if v.FullThrottles {
		parts = append(parts, "a full queue throttles")
	}
	if t := v.Throttle; t.Rate > 0 {
		parts = append(parts, fmt.Sprintf("throttled above %s requests a second, after a burst of %s", decimal(t.Rate), decimal(t.Burst)))
	}
	for _, e := range []struct {
		share float64
		text  string
	}{{v.Errors.Transient, "fail as transient"}, {v.Errors.Throttling, "are throttled"}, {v.Errors.Permanent, "fail for good"}} {
		if e.share > 0 {
			parts = append(parts, percentOf(e.share)+" of the requests "+e.text)
		}
	}
	if c := v.Cache; c.Entries > 0 {
		parts = append(parts, fmt.Sprintf("a cache of %s entries, cold after an outage: a miss takes %s times as long", decimal(c.Entries), decimal(c.MissFactor)))
	}
	return strings.Replace(strings.Join(parts, ", "), "with, ", "with ", 1)
}

func faultWords(f sim.Fault) string {
	var what string
	switch f.Kind {
	case sim.Down:
		what = "every request is refused at once"
	case sim.Silent:
		what = "nobody answers"
	case sim.Failing:
		what = percentOf(f.Amount) + " of the requests fail"
	case sim.Throttled:
		what = percentOf(f.Amount) + " of the requests are throttled"
	case sim.Slow:
		what = "service takes " + decimal(f.Amount) + " times as long"
	case sim.Crowd:
		what = decimal(f.Amount) + " times as many calls come"
	case sim.Tight:
		what = "the throttle lets " + decimal(f.Amount) + " times as many through"
	}
	if f.Shards > 0 && f.Shards < 1 {
		what += ", on " + percentOf(f.Shards) + " of the shards"
	}
	return fmt.Sprintf("%s, from %s on for %s", what, timeWords(f.Start), timeWords(f.Length))
}

// faultName is what a chart calls a fault.
func faultName(f sim.Fault) string {
	switch f.Kind {
	case sim.Slow, sim.Crowd, sim.Tight:
		return f.Kind.String() + " × " + decimal(f.Amount)
	case sim.Failing, sim.Throttled:
		return percentOf(f.Amount) + " " + f.Kind.String()
	}
	return f.Kind.String()
}

// decimal writes a number to four digits, in groups of three.
func decimal(v float64) string {
	if v >= 10_000 {
		return figure.Count(uint64(v + 0.5))
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func percentOf(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + " %" }

func timeWords(d time.Duration) string {
	switch {
	case d >= time.Minute && d%time.Minute == 0 && d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < time.Second:
		return strconv.FormatFloat(float64(d)/1e6, 'g', 4, 64) + " ms"
	case d < 2*time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'g', 4, 64) + " s"
	}
	return d.Round(time.Second).String()
}
