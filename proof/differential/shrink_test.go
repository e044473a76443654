package differential_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

// topic is what a mismatch is about: the first word.
func (m *mismatch) topic() string { return strings.SplitN(m.what, ":", 2)[0] }

// shrink cuts a failing script down to one from which nothing can be left out, and
// which fails in the same way: delta debugging over calls, then over the steps of
// each, then the things that a call or step has beside them.
func shrink(t *testing.T, s *script, first *mismatch, wrong ...engine.Option) (*script, *mismatch) {
	best, why := s, first
	try := func(candidate *script) bool {
		m, _ := run(t, candidate, tally{}, wrong...)
		if m == nil || m.topic() != first.topic() {
			return false
		}
		best, why = candidate, m
		return true
	}
	cut := *best
	cut.Calls = cut.Calls[:first.call+1]
	try(&cut)
	for before := -1; before != size(best); {
		before = size(best)
		for chunk := len(best.Calls) / 2; chunk > 0; chunk /= 2 {
			for from := 0; from+chunk <= len(best.Calls); {
				c := *best
				c.Calls = append(append([]call{}, best.Calls[:from]...), best.Calls[from+chunk:]...)
				if !try(&c) {
					from += chunk
				}
			}
		}
		for _, simpler := range simplerScripts(best) {
			if size(simpler) < size(best) {
				try(simpler)
			}
		}
		for i := 0; i < len(best.Calls); i++ {
			for _, simpler := range simplerCalls(best.Calls[i]) {
				c := *best
				c.Calls = append([]call{}, best.Calls...)
				c.Calls[i] = simpler
				if size(&c) < size(best) {
					try(&c)
				}
			}
		}
	}
	return best, why
}

// size is what a script has in it, so that a simpler one is smaller.
func size(s *script) int {
	text, _ := json.Marshal(s)
	return len(text)
}

// simplerScripts are s with one thing less.
func simplerScripts(s *script) (all []*script) {
	with := func(change func(*script)) {
		c := *s
		change(&c)
		all = append(all, &c)
	}
	with(func(s *script) { s.Adaptive, s.NoWait = false, false })
	with(func(s *script) { s.NoWait = false })
	with(func(s *script) { s.DynamoDB = false })
	with(func(s *script) { s.MaxAttempts = 0 })
	with(func(s *script) { s.Phase = 0 })
	return all
}

// simplerCalls are c with one thing less.
func simplerCalls(c call) (all []call) {
	with := func(change func(*call)) {
		s := c
		s.Steps = append([]step{}, c.Steps...)
		change(&s)
		all = append(all, s)
	}
	with(func(s *call) { s.Gap = 0 })
	with(func(s *call) { s.LongPoll = false })
	with(func(s *call) { s.Cancel = 0 })
	with(func(s *call) { s.Deadline = 0 })
	for i := range c.Steps {
		with(func(s *call) { s.Steps = append(s.Steps[:i], s.Steps[i+1:]...) })
		with(func(s *call) { s.Steps[i].Latency = 0 })
		with(func(s *call) { s.Steps[i].Hint = "" })
		with(func(s *call) { s.Steps[i].Deaf = false })
		with(func(s *call) { s.Steps[i].Skew = 0 })
	}
	return all
}

// write writes a script to a file, and to another one what `reprise replay` can
// read of it, and says where.
func write(t *testing.T, s *script, m *mismatch, wrong ...engine.Option) string {
	folder := *outFolder
	if folder == "" {
		folder = os.TempDir()
	}
	name := filepath.Join(folder, fmt.Sprintf("differential-%d.json", s.Seed))
	text, err := json.MarshalIndent(s, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, append(text, '\n'), 0o644))
	said := "go test -run TestScript -args -script " + name
	_, log := run(t, s, tally{}, wrong...)
	text, missing := replayFile(s, m, log)
	if missing != "" {
		return said + "\nno replay file: " + missing
	}
	name = strings.TrimSuffix(name, ".json") + "-replay.json"
	require.NoError(t, os.WriteFile(name, text, 0o644))
	return said + "\nreprise replay " + name
}
