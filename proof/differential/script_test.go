package differential_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// script is a history of calls of one client, one after the other. It is data: a
// failure is written down as JSON and read again.
type script struct {
	Seed        uint64        `json:"seed"` // of the draws
	Adaptive    bool          `json:"adaptive,omitempty"`
	NoWait      bool          `json:"no_wait,omitempty"` // the limiter refuses and nobody waits
	DynamoDB    bool          `json:"dynamodb,omitempty"`
	MaxAttempts int           `json:"max_attempts,omitempty"` // 0: the default
	Capacity    int           `json:"capacity"`
	Tokens      int           `json:"tokens"` // to start with
	Phase       time.Duration `json:"phase_ns,omitempty"`
	Calls       []call        `json:"calls"`
}

type call struct {
	Gap      time.Duration `json:"gap_ns,omitempty"` // between the call before and this one
	LongPoll bool          `json:"long_poll,omitempty"`
	Cancel   time.Duration `json:"cancel_ns,omitempty"`   // after the begin of the call; 0: never
	Deadline time.Duration `json:"deadline_ns,omitempty"` // 0: none
	Steps    []step        `json:"steps"`                 // attempts beyond them succeed
}

// step is what an attempt meets.
type step struct {
	Kind    string        `json:"kind"`
	Status  int           `json:"status,omitempty"`
	Code    string        `json:"code,omitempty"`
	Hint    string        `json:"hint,omitempty"` // x-amz-retry-after
	Latency time.Duration `json:"latency_ns,omitempty"`
	// Skew is how far the Date of the answer is ahead; 0: it has none.
	Skew time.Duration `json:"skew_ns,omitempty"`
	// Deaf answers come in spite of a caller who is no longer there.
	Deaf bool `json:"deaf,omitempty"`
}

func (s *script) steps() (n int) {
	for i := range s.Calls {
		n += len(s.Calls[i].Steps)
	}
	return n
}

// attempts is how many attempts a call has.
func (s *script) attempts() int {
	switch {
	case s.MaxAttempts > 0:
		return s.MaxAttempts
	case s.DynamoDB && s.MaxAttempts == 0:
		return 4
	}
	return 3
}

// temper is how a script's server and its callers behave.
type temper struct {
	healthy, throttling, odd, impatient, hints float64 // probabilities
	busy                                       float64
}

// newScript draws a script of about that many steps.
func newScript(seed uint64, steps int) *script {
	r := rand.New(rand.NewPCG(seed, 7))
	s := &script{Seed: seed, Adaptive: seed%2 == 1, Capacity: 500, Phase: time.Duration(r.Int64N(1e9 - int64(border)))}
	switch r.IntN(4) {
	case 0:
		s.Capacity = 1 + r.IntN(60)
	case 1:
		s.Capacity = 1 + r.IntN(2000)
	}
	s.Tokens = s.Capacity
	if r.IntN(2) == 0 {
		s.Tokens = r.IntN(s.Capacity + 1)
	}
	s.NoWait = s.Adaptive && r.IntN(4) == 0
	s.DynamoDB = r.IntN(4) == 0
	switch r.IntN(8) {
	case 0:
		s.MaxAttempts = 1 + r.IntN(20)
	case 1, 2:
		s.MaxAttempts = 1 + r.IntN(3)
	case 3:
		s.MaxAttempts = 1 + r.IntN(2000) // past any shift
	case 4:
		s.MaxAttempts = -1 - r.IntN(3)
	}
	t := temper{
		healthy:    pick(r, 0.02, 0.3, 0.7, 0.95),
		throttling: pick(r, 0, 0.1, 0.5, 0.9),
		odd:        pick(r, 0, 0, 0.02, 0.2),
		impatient:  pick(r, 0, 0.02, 0.3),
		hints:      pick(r, 0, 0.1, 0.5),
		busy:       pick(r, 0.2, 0.9, 0.999),
	}
	for n := 0; n < steps; {
		c := newCall(r, s, t)
		n += len(c.Steps)
		s.Calls = append(s.Calls, c)
	}
	return s
}

func newCall(r *rand.Rand, s *script, t temper) (c call) {
	if r.Float64() > t.busy {
		c.Gap = time.Duration(1e5 * math.Exp(r.Float64()*math.Log(6e6))) // 0.1 ms to 10 min
	} else {
		c.Gap = time.Duration(1e5 + r.Float64()*1e8*math.Pow(r.Float64(), 6))
	}
	c.LongPoll = r.IntN(8) == 0
	if r.Float64() < t.impatient {
		// Odd nanoseconds: an end and a delay at one instant have no order.
		c.Cancel = 1 + time.Duration(1e3*math.Exp(r.Float64()*math.Log(3e7)))
	}
	if r.Float64() < t.impatient {
		c.Deadline = 2 + time.Duration(1e3*math.Exp(r.Float64()*math.Log(3e7)))
	}
	for range s.attempts() {
		p := newStep(r, t)
		c.Steps = append(c.Steps, p)
		if p.Kind == "ok" {
			break
		}
	}
	return c
}

func newStep(r *rand.Rand, t temper) (p step) {
	switch {
	case r.Float64() < t.healthy:
		p.Kind = "ok"
	case r.Float64() < t.odd:
		p.Kind = oddKinds[r.IntN(len(oddKinds))]
	case r.Float64() < t.throttling:
		p.Kind = "answer"
		p.Code = throttlingCodes[r.IntN(len(throttlingCodes))]
		p.Status = []int{400, 400, 429, 503, 500, 403, 200}[r.IntN(7)]
	default:
		p.Kind = plainKinds[r.IntN(len(plainKinds))]
	}
	if k := kinds[p.Kind]; k.draw != nil && p.Code == "" {
		k.draw(r, &p)
	}
	if p.Kind != "ok" && p.Status != 0 && r.Float64() < t.hints {
		p.Hint = hints[r.IntN(len(hints))]
		if r.IntN(3) == 0 && t.odd > 0 {
			p.Hint = oddHints[r.IntN(len(oddHints))]
		}
	}
	if r.IntN(3) > 0 {
		p.Latency = time.Duration(r.Float64() * 1e8 * math.Pow(r.Float64(), 4))
	}
	p.Deaf = r.IntN(4) == 0
	return p
}

func pick(r *rand.Rand, of ...float64) float64 { return of[r.IntN(len(of))] }

var throttlingCodes = []string{
	"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException",
	"TooManyRequestsException", "ProvisionedThroughputExceededException", "TransactionInProgressException",
	"RequestLimitExceeded", "BandwidthLimitExceeded", "LimitExceededException", "RequestThrottled", "SlowDown",
	"PriorRequestNotComplete", "EC2ThrottledException",
}

// hints are headers that both sides read in one way, oddHints those that they do
// not.
var (
	hints    = []string{"0", "1", "49", "50", "1500", "4999", "5000", "60000", "007", "1.5", "soon", "-1", "-5000", "", "1e3", "0x10", "9223372036", "9223372036854"}
	oddHints = []string{"+1500", "9223372036855", "99999999999999999", "9223372036854775807", "9223372036854775808", "99999999999999999999999999", "18446744073709551617"}
)

// parse reads what report has written.
func parse(t *testing.T, text []byte) *script {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	s := new(script)
	require.NoError(t, decoder.Decode(s))
	for _, c := range s.Calls {
		for _, p := range c.Steps {
			require.Contains(t, kinds, p.Kind)
		}
	}
	return s
}
