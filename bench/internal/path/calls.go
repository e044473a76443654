package path

import (
	"context"
	"math"

	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/bench/internal/peer"
	"github.com/reprise-go/reprise/engine"
)

const (
	full     = 500               // R6
	bottom   = math.MaxInt32     // a capacity that no run fills
	enough   = math.MaxInt32 / 2 // tokens that no run uses up
	oneInAll = 100               // calls, of which one fails once
)

// script makes the operation of one goroutine, given the errors of a Doer.
type script func(again, final error) peer.Op

//go:noinline
func succeed(context.Context) (int, error) { return 1, nil }

//go:noinline
func succeedPlain() (int, error) { return 1, nil }

func succeeding(_, _ error) peer.Op { return peer.Op{Context: succeed, Plain: succeedPlain} }

func both(f func() (int, error)) peer.Op {
	return peer.Op{Context: func(context.Context) (int, error) { return f() }, Plain: f}
}

// failingOnce fails the first attempt of one in every so many calls.
func failingOnce(every int) script {
	return func(again, _ error) peer.Op {
		left := every
		return both(func() (int, error) {
			if left--; left == 0 {
				left = every + 1 // the retry counts too
				return 0, again
			}
			return 1, nil
		})
	}
}

func failingAlways(again, _ error) peer.Op {
	return both(func() (int, error) { return 0, again })
}

// call is a Doer on a script.
func call(name string, make func() peer.Doer, script script) Side {
	return Side{Impl: name, New: func(procs int) Instance {
		d := make()
		again, final := d.Errors()
		return Instance{Loops: each(procs, func() measure.Loop {
			op, ctx := script(again, final), context.Background()
			return func(n int) { d.Loop(ctx, op, n) }
		})}
	}}
}

// doers are those that do a call, each with a quota that starts with so many
// tokens, if it has one. retriers leaves out those that send once only.
func doers(capacity, tokens int, script script, names ...string) []Side {
	quota := []engine.Option{engine.WithQuota(engine.Quota{Capacity: capacity}), engine.WithTokens(tokens)}
	standard := func() peer.AWSTokens {
		return peer.AWSTokens{Impl: "aws-standard", R: peer.Standard(uint(capacity), uint(tokens))}
	}
	makers := map[string]func() peer.Doer{
		"bare":            func() peer.Doer { return peer.Bare{} },
		"reprise":         func() peer.Doer { return peer.Reprise{E: peer.Engine(quota...)} },
		"reprise-call":    func() peer.Doer { return peer.RepriseCall{E: peer.Engine(quota...)} },
		"mutex":           func() peer.Doer { return peer.NewMutex(capacity, tokens) },
		"aws-standard":    func() peer.Doer { return standard() },
		"aws-middleware":  func() peer.Doer { return peer.NewAWSMiddleware(standard().R) },
		"failsafe":        func() peer.Doer { return peer.NewFailsafe() },
		"failsafe-budget": func() peer.Doer { return peer.NewFailsafeBudget() },
		"avast":           func() peer.Doer { return peer.NewAvast() },
		"cenkalti":        func() peer.Doer { return peer.NewCenkalti() },
		"sethvargo":       func() peer.Doer { return peer.Sethvargo{} },
		"gobreaker":       func() peer.Doer { return peer.NewGobreaker() },
		"x-time":          func() peer.Doer { return peer.NewXTime() },
		"uber-ratelimit":  func() peer.Doer { return peer.NewUber() },
	}
	var sides []Side
	for _, name := range names {
		sides = append(sides, call(name, makers[name], script))
	}
	return sides
}

func calls() []Path {
	return []Path{
		{
			Name: "success",
			What: "A call that succeeds at its first attempt, with a full quota where there is one. bare is the operation alone.",
			Sides: doers(full, full, succeeding, "bare", "reprise", "reprise-call", "mutex", "aws-standard", "aws-middleware",
				"failsafe", "failsafe-budget", "avast", "cenkalti", "sethvargo", "gobreaker", "x-time", "uber-ratelimit"),
		},
		{
			Name:  "success-moving",
			What:  "The same with a quota that is not full, so that each success adds a token.",
			Sides: doers(bottom, enough, succeeding, "bare", "reprise", "reprise-call", "mutex", "aws-standard", "aws-middleware"),
		},
		{
			Name: "first-retry",
			What: "A call whose first attempt fails and whose second succeeds: classified, paid for, the delay drawn, and none of it waited for. Some set a timer even for no delay.",
			Sides: doers(bottom, enough, failingOnce(1), "bare", "reprise", "reprise-call", "mutex", "aws-standard", "aws-middleware",
				"failsafe", "failsafe-budget", "avast", "cenkalti", "sethvargo"),
		},
		{
			Name: "one-percent",
			What: "A hundred calls of which one fails once: success and retry in a likely mix.",
			Sides: doers(full, full, failingOnce(oneInAll), "bare", "reprise", "reprise-call", "mutex", "aws-standard", "aws-middleware",
				"failsafe", "failsafe-budget", "avast", "cenkalti", "sethvargo"),
		},
		{
			Name:  "outage",
			What:  "Every attempt fails and the quota is empty: one attempt, a refusal, an error.",
			Sides: doers(full, 0, failingAlways, "bare", "reprise", "reprise-call", "mutex", "aws-standard", "aws-middleware"),
		},
	}
}
