package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// All engines change, those to come too; levels stay (peer fault 23).
func TestGroupReconfigure(t *testing.T) {
	template := mustNew(t)
	g, err := engine.NewGroup[string](template, 2)
	require.NoError(t, err)
	e := g.For("a")
	c := e.Begin()
	c.Fail(transient)
	drain(e, throttling)
	before := level(e)
	classifier, err := classify.Default.With(classify.Overrides{})
	require.NoError(t, err)
	schedule := fastbackoff.Schedule{Transient: time.Second}
	require.NoError(t, g.Reconfigure(engine.WithMaxAttempts(7), engine.WithClassifier(classifier)))
	require.NoError(t, g.Reconfigure(engine.WithSchedule(schedule), engine.WithQuota(engine.Quota{Capacity: 1000, TransientCost: 7})))
	for key, tokens := range map[string]int{"a": before, "b": 1000} {
		e := g.For(key)
		assert.Equal(t, 7, e.MaxAttempts(), "what two calls say adds up")
		assert.Same(t, classifier, e.Classifier())
		assert.Equal(t, time.Second, e.Schedule().Transient)
		assert.Equal(t, engine.Quota{Capacity: 1000, TransientCost: 7, ThrottlingCost: 5}, e.Quota())
		assert.Equal(t, tokens, level(e), key)
	}
	c.Abandon()
	assert.Equal(t, before+14, level(e), "what the retry took it gives back (R6.3)")
	over := g.For("c")
	assert.Equal(t, 1, over.MaxAttempts(), "who has no room is not retried, whatever is said")
	assert.Same(t, classifier, over.Classifier())
	assert.Equal(t, 3, template.MaxAttempts(), "the template stays what it is")

	require.NoError(t, g.Reconfigure(engine.WithQuota(engine.Quota{Capacity: 20})))
	assert.Equal(t, min(before+14, 20), level(e), "what a smaller capacity cannot hold is dropped")
}

// An error changes nothing, nowhere.
func TestGroupReconfigureErrors(t *testing.T) {
	g := newGroup[string](t, 10)
	e := g.For("a")
	for want, opts := range map[string][]engine.Option{
		"reprise/engine: WithMode cannot be changed while calls are under way: set it in New": {engine.WithMaxAttempts(9), engine.WithMode(engine.Legacy)},
		"reprise/engine: option 2 of 2 is nil":                                                {engine.WithMaxAttempts(9), nil},
		"reprise/engine: WithMaxAttempts(0): want 1 (no retries) to 2147483647, the first attempt included": {
			engine.WithMaxAttempts(9), engine.WithMaxAttempts(0)},
		"reprise/engine: Quota.TransientCost is 14: want 1 to the capacity, 10 tokens; a cost above it could never be paid": {
			engine.WithMaxAttempts(9), engine.WithQuota(engine.Quota{Capacity: 10})},
	} {
		assert.EqualError(t, g.Reconfigure(opts...), want)
	}
	assert.Equal(t, 3, e.MaxAttempts())
	assert.Equal(t, 3, g.For("b").MaxAttempts())
	assert.Equal(t, engine.DefaultQuota(), e.Quota())
}

// Templates that change, and Reconfigure without options: the engines follow.
// What cannot be changed while calls are under way stays.
func TestGroupFollowsItsTemplates(t *testing.T) {
	templates := map[string]*engine.Engine{
		"a": mustNew(t, engine.WithMaxAttempts(2)),
		"b": mustNew(t, engine.WithTokens(100)),
	}
	g, err := engine.NewGroupFunc(func(key string) *engine.Engine {
		if key == "panic" {
			panic(key)
		}
		return templates[key]
	}, 10)
	require.NoError(t, err)
	a, b := g.For("a"), g.For("b")
	require.NoError(t, b.Reconfigure(engine.WithMaxAttempts(9)))

	templates["a"] = mustNew(t, engine.WithMaxAttempts(6), engine.WithMode(engine.Legacy), engine.WithService("DynamoDB"))
	assert.Equal(t, 2, a.MaxAttempts())
	require.NoError(t, g.Reconfigure())
	assert.Same(t, a, g.For("a"))
	assert.Equal(t, 6, a.MaxAttempts())
	assert.Equal(t, engine.Standard, a.Mode())
	assert.Equal(t, "", a.Service())
	assert.Equal(t, 3, b.MaxAttempts(), "what it was told by itself is gone")
	assert.Equal(t, 100, level(b))

	delete(templates, "b")
	require.NoError(t, g.Reconfigure(engine.WithMaxAttempts(8)))
	assert.Equal(t, 8, a.MaxAttempts(), "the group's word is the last")
	assert.Same(t, b, g.For("b"))
	assert.Equal(t, 1, b.MaxAttempts(), "but not against a key that is not to be retried")
	templates["b"] = mustNew(t)
	require.NoError(t, g.Reconfigure())
	assert.Equal(t, 8, b.MaxAttempts())
	assert.Equal(t, 100, level(b))

	templates["c"] = mustNew(t, engine.WithTokens(400))
	require.NoError(t, g.Reconfigure(engine.WithQuota(engine.Quota{Capacity: 50})))
	assert.Equal(t, 50, level(g.For("c")), "where it starts, as far as the capacity goes")
}
