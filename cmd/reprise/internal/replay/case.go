package replay

import (
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
)

// Case is one case of a file: an engine, and the calls that run on it one after
// another. What the file leaves out is nil or zero.
type Case struct {
	Name   string   `json:"name"`
	Engine Settings `json:"engine"`
	Calls  []Call   `json:"calls"`

	number int // from 1, in its file
	offset int64
	file   *source
}

// Settings is what a case says of its engine.
type Settings struct {
	Mode         *string  `json:"mode"`           // standard if left out
	Service      *string  `json:"service"`        // none if left out
	MaxAttempts  *int     `json:"max_attempts"`   // the mode's and service's own if left out
	Tokens       *int     `json:"tokens"`         // initial level of the quota; full if left out
	Capacity     *int     `json:"capacity"`       // of the quota; 500 if left out
	MaxBackoffMS *float64 `json:"max_backoff_ms"` // 20 s if left out
	Jitter       *float64 `json:"jitter"`         // from 0 to 1; the real source if left out
}

// Call is one call: an attempt a step, up to the step that ends it.
type Call struct {
	Operation   string `json:"operation"`
	LongPolling bool   `json:"long_polling"`
	Steps       []Step `json:"steps"`
}

// Step is what one attempt met, and what should come of it.
type Step struct {
	Status  int               `json:"status"`
	Code    string            `json:"code"`
	Headers map[string]string `json:"headers"`
	Error   *string           `json:"error"`
	AtMS    *float64          `json:"at_ms"`
	Expect  *Expect           `json:"expect"`

	offset  int64 // of its first byte in the file
	failure *scenario.Failure
}

// Expect is what a step should come to. Nil is not checked.
type Expect struct {
	Outcome        *string  `json:"outcome"`
	Quota          *int     `json:"quota"`
	DelayMS        *float64 `json:"delay_ms"`
	FillRate       *float64 `json:"fill_rate"`
	MeasuredTxRate *float64 `json:"measured_tx_rate"`
	AdmitWaitMS    *float64 `json:"admit_wait_ms"`
}

// success reports whether the step is an answer that ends its call well.
func (s *Step) success() bool { return scenario.Success(s.Status) }
