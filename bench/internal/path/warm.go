package path

import (
	"context"
	"time"

	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/bench/internal/peer"
)

// A limiter with a clock of its own measures what it sends in half seconds of
// real time, so it must have lived for two of them at full speed before it knows
// its rate.
var life = 1100 * time.Millisecond

// lived is s after such a life.
func lived(s Side) Side {
	fresh := s.New
	s.New = func(procs int) Instance {
		i := fresh(procs)
		live(i.Loops)
		return i
	}
	return s
}

func live(loops []measure.Loop) {
	n := max(measure.Calibrate(loops, 10*time.Millisecond), 1000)
	for start := time.Now(); time.Since(start) < life; {
		measure.Run(loops, n)
	}
}

// warmed is a Doer that lived and was throttled once, and then left alone for
// long enough to have tokens for what is to come: its rate is in the millions a
// second, and it keeps the tokens of a second.
func warmed(impl string, setup func() (d peer.Doer, throttle func())) Side {
	return Side{Impl: impl, New: func(procs int) Instance {
		d, throttle := setup()
		again, final := d.Errors()
		loops := each(procs, func() measure.Loop {
			op, ctx := succeeding(again, final), context.Background()
			return func(n int) { d.Loop(ctx, op, n) }
		})
		live(loops)
		throttle()
		time.Sleep(life / 4)
		return Instance{Loops: loops}
	}}
}

func awsThrottle(a peer.AWSTokens) {
	release, err := a.R.GetAttemptToken(context.Background())
	if err != nil {
		panic(err)
	}
	_ = release(peer.Throttled())
}
