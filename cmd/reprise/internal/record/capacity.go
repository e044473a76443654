package record

import "time"

// Capacity is what became of the embedded server's capacity.
type Capacity struct {
	PerSecond float64 `json:"per_second"`
	Burst     int     `json:"burst"`     // requests at once after a pause
	Answered  uint64  `json:"answered"`  // requests within it, whatever was drawn for them
	Throttled uint64  `json:"throttled"` // requests above it
	// ShareUsed is the part that was used of what it let through at the most
	// while calls began: the burst and so much per second.
	ShareUsed float64 `json:"share_used"`
}

// Share is the part that Answered is of what the capacity lets through in the
// first elapsed time of a run.
func (c *Capacity) Share(elapsed time.Duration) float64 {
	return min(float64(c.Answered)/(float64(c.Burst)+c.PerSecond*elapsed.Seconds()), 1)
}
