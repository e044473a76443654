package proof_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// play runs a script against a client of a kind, in a world of its own.
func play(t *testing.T, s script, make func(testing.TB, int) clientOptions) (o outcome) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		options := make(t, s.tokens)
		var results retry.AttemptResults
		options.keep = keepResults(&results)
		ctx := t.Context()
		if s.under != nil {
			under, stop := s.under(ctx)
			defer stop()
			ctx = under
		}
		call := s.call
		if call == nil {
			call = getItem
		}
		w.proxy.Script(s.faults...)
		start := time.Now()
		err := call(ctx, w, options)
		o = outcomeOf(start, w.proxy.Seen(), err, results, options.tokens(false))
	})
	return o
}

func TestTable(t *testing.T) {
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			for _, kind := range clientKinds {
				t.Logf("%+v", play(t, s, kind.make))
			}
		})
	}
}
