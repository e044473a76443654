package size

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProgress(t *testing.T) {
	var p Progress
	assert.Zero(t, p.Share())
	assert.Empty(t, p.String())
	_, err := Answer(t.Context(), Default(), Run{Seed: 1, Calls: 20_000, Progress: &p})
	require.NoError(t, err)
	assert.EqualValues(t, 1, p.Share())
	assert.Equal(t, comparing, p.String())

	q, none := Default(), Progress{}
	q.Transient, q.Amplification, q.Deadline = 0.2, 1.2, time.Second
	_, err = Answer(t.Context(), q, Run{Progress: &none})
	require.Error(t, err)
	assert.Greater(t, none.Share(), searching[1]/2)
	assert.Less(t, none.Share(), searching[1])
	assert.Regexp(t, `^calculating what would do, \d+ attempts$`, none.String())
}

// The share never falls, however often something is made again.
func TestStages(t *testing.T) {
	var p Progress
	s := p.stage(simulating)
	first, second := s.half(), s.half()
	for _, step := range []struct {
		stage     *stage
		is, share float64
	}{{first, 0, 0.3}, {first, 1, 0.55}, {second, 0, 0.55}, {second, 0.5, 0.6125}, {first, 0.5, 0.6125}, {s, 1, 0.8}, {p.stage(lookingAround), 1, 1}} {
		step.stage.show(step.is, "something")
		assert.InDelta(t, step.share, p.Share(), 1e-5)
	}
	(*Progress)(nil).stage(searching).half().show(1, "nothing")
	(*Progress)(nil).end()
}

// Whatever it is at, an answer ends with its context.
func TestAnEndedSearch(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, transient := range []float64{0.01, 0.6} {
		q := Default()
		q.Transient = transient
		_, err := Answer(ended, q, Run{Seed: 1})
		require.ErrorIs(t, err, context.Canceled)
	}
	q := Default()
	assert.Empty(t, q.choices(ended, plan(3, 100), nil))
	assert.Empty(t, q.tradeoff(ended, plan(3, 100), nil))
}
