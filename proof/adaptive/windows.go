package main

import (
	"fmt"
	"io"
	"time"
)

const windowHead = `
## Windows by round trip

5,000 requests/s, one client, 1.5x, a bucket of a second: use and throttled share.

| window | round trip 20ms | round trip 200ms |
|---|--:|--:|
`

// reportWindows shows what a window does that is shorter than a round trip: it
// lets late throttles of a burst cut again.
func reportWindows(out io.Writer) error {
	if _, err := io.WriteString(out, windowHead); err != nil {
		return err
	}
	trips := []time.Duration{20 * time.Millisecond, 200 * time.Millisecond}
	for _, share4 := range []time.Duration{1, 2, 3, 4, 5} {
		if err := windowLine(out, fmt.Sprintf("%d/4 of the round trip", share4), trips, func(trip time.Duration) time.Duration { return trip * share4 / 4 }); err != nil {
			return err
		}
	}
	return windowLine(out, "1 minute", trips, func(time.Duration) time.Duration { return time.Minute })
}

func windowLine(out io.Writer, name string, trips []time.Duration, window func(trip time.Duration) time.Duration) error {
	s := "| " + name + " |"
	for _, trip := range trips {
		c := cell{5000, 1, trip, 1.5, time.Second}
		r, err := c.run(policies(window(trip))[1], c.measured())
		if err != nil {
			return err
		}
		s += fmt.Sprintf(" %.1f %%, %s |", 100*r.Use, share(r.Throttled))
	}
	_, err := fmt.Fprintln(out, s)
	return err
}
