package proof_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		if s.dial != nil {
			w.client.CloseIdleConnections() // which the table was made over
			w.dial.Store(&s.dial)
		}
		w.proxy.Script(s.faults...)
		start := time.Now()
		err := call(ctx, w, options)
		o = outcomeOf(start, w.proxy.Seen(), err, results, options.tokens(false))
	})
	return o
}

// The table: each script through the SDK's client and ours. Whatever can be told
// of the two from outside is the same, or in the list of differences with the value
// that it has there.
func TestTable(t *testing.T) {
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			sdk := play(t, s, clientKinds[0].make).fields()
			for _, kind := range clientKinds[1:] {
				differs := make(map[string]string)
				for field, value := range play(t, s, kind.make).fields() {
					if value != sdk[field] {
						differs[field] = value
					}
				}
				assert.Equal(t, deliberate(s.name, kind.name), differs, "%s against %v", kind.name, sdk)
			}
		})
	}
}

// Each difference is about a script of the table, and the package comment tells
// of it.
func TestDifferences(t *testing.T) {
	source, err := os.ReadFile("../doc.go")
	require.NoError(t, err)
	comment := strings.Join(strings.Fields(strings.ReplaceAll(string(source), "\n//", "\n")), " ")
	for _, d := range differences {
		assert.True(t, slices.ContainsFunc(scripts, func(s script) bool { return s.name == d.script }), d.script)
		assert.Contains(t, comment, d.name)
	}
}
