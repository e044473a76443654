// Package ratio defines the ratios that the project is held to: what stands over
// what, and what is taken off both.
package ratio

// Ratio is how many times faster one side of a path is than another.
type Ratio struct {
	Name string
	Path string
	Ours string // a side's name
	Peer string
	// Base, if any, is taken off both: the operation, which is nobody's work. The
	// ratio is then (peer - base) / (ours - base).
	Base string
	// Goals are for 1 and 2 processors; 0 is none.
	Goals [2]float64
}

// Goal is the goal for so many processors, 0 if there is none.
func (r Ratio) Goal(procs int) float64 {
	if procs < 1 || procs > len(r.Goals) {
		return 0
	}
	return r.Goals[procs-1]
}

// All are the ratios, in the order in which they are printed.
var All = []Ratio{
	{"do-vs-aws-standard", "success", "reprise", "aws-standard", "bare", [2]float64{22, 60}},
	{"call-vs-aws-standard", "token", "reprise-call", "aws-standard", "", [2]float64{40, 100}},
	{"do-vs-aws-middleware", "success", "reprise", "aws-middleware", "bare", [2]float64{225, 460}},
	{"adaptive-off", "limiter-off", "reprise-call", "aws-adaptive", "bare", [2]float64{36, 60}},
	{"adaptive-on", "limiter-on", "reprise-call", "aws-adaptive", "bare", [2]float64{24, 12}},
	{"throttle-storm", "throttle-storm", "reprise", "aws-adaptive", "", [2]float64{3, 3}},
	{"decision", "decision", "reprise-call", "aws-standard", "", [2]float64{100, 42}},
	{"refusal", "refusal", "reprise-call", "aws-standard", "", [2]float64{115, 0}},
	{"jitter", "jitter", "reprise", "aws-standard", "", [2]float64{10, 19}},
	{"bucket-full", "bucket-full", "reprise", "aws-standard", "", [2]float64{41, 115}},
	{"bucket-moving", "bucket-moving", "reprise", "aws-standard", "", [2]float64{}},
	{"do-vs-failsafe", "success", "reprise", "failsafe", "bare", [2]float64{89, 0}},
	{"do-vs-avast", "success", "reprise", "avast", "bare", [2]float64{33, 0}},
	{"do-vs-cenkalti", "success", "reprise", "cenkalti", "bare", [2]float64{31, 0}},
	{"do-vs-sethvargo", "success", "reprise", "sethvargo", "bare", [2]float64{19, 0}},
	{"do-vs-gobreaker", "success", "reprise", "gobreaker", "bare", [2]float64{35, 0}},

	// Without a goal: what the above could be suspected of.
	{"adaptive-off-do", "limiter-off", "reprise", "aws-adaptive", "bare", [2]float64{}},
	{"adaptive-on-do", "limiter-on", "reprise", "aws-adaptive", "bare", [2]float64{}},
	{"adaptive-on-limiter", "limiter-on", "reprise-limiter", "aws-adaptive", "bare", [2]float64{}},
	{"bucket-full-alone", "bucket-full", "reprise", "aws-bucket", "", [2]float64{}},
	{"bucket-moving-alone", "bucket-moving", "reprise", "aws-bucket", "", [2]float64{}},
	{"do-vs-mutex", "success", "reprise", "mutex", "bare", [2]float64{}},
}
