package classify_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
)

func TestClassIsInvariantUnderWrapping(t *testing.T) {
	for _, c := range errorCases {
		want := classify.Default.ExplainError(c.err)
		for _, w := range wrappings {
			err := c.err
			for depth := 1; depth <= 5; depth++ {
				err = w.wrap(err)
				got := classify.Default.ExplainError(err)
				if !w.single {
					// Of several errors each has to prove it.
					got.NeverSent = want.NeverSent
				}
				require.Equal(t, want, got, "%s in %d x %s", c.name, depth, w.name)
			}
		}
	}
}

func TestClassIsInvariantUnderMixedWrapping(t *testing.T) {
	for _, c := range errorCases {
		for _, outer := range wrappings {
			for _, inner := range wrappings {
				err := outer.wrap(silent{inner.wrap(silent{c.err})})
				require.Equal(t, c.class, classify.Default.Error(err), "%s in %s in %s", c.name, inner.name, outer.name)
			}
		}
	}
}

func TestCyclesEnd(t *testing.T) {
	// The cycle comes first, so what follows it is beyond the walk's budget;
	// what precedes it counts.
	self := &wrapError{}
	self.err = self
	assert.Equal(t, final, classify.Default.Error(self))

	a, b := &wrapError{}, &markedError{true, nil}
	a.err, b.err = b, a
	assert.Equal(t, transient, classify.Default.Error(a))
	assert.False(t, classify.Default.ExplainError(dial(self)).NeverSent, "a walk that gave up proves nothing")

	wide := make(multiError, 2)
	wide[0], wide[1] = wide, wide
	assert.Equal(t, final, classify.Default.Error(wide), "2^n branches")

	assert.Equal(t, throttle, classify.Default.Error(multiError{&apiError{"SlowDown", 0}, self}))
}

func TestVeryDeepChainEndsAtOnce(t *testing.T) {
	depth := 1_000_000
	if testing.Short() {
		depth = 10_000
	}
	err := error(&apiError{"SlowDown", 0})
	for range depth {
		err = &wrapError{err}
	}
	asked := 0
	counted := error(countedError{err, &asked})
	for range 100 {
		counted = countedError{counted, &asked}
	}
	assert.Equal(t, final, classify.Default.Error(counted), "the code lies beyond the budget")
	assert.Equal(t, 101, asked)
}

func TestBudgetIsCountedInErrors(t *testing.T) {
	asked := 0
	endless := &endlessError{&asked}
	assert.Equal(t, final, classify.Default.Error(endless))
	assert.Equal(t, 1024, asked)

	err := error(&apiError{"SlowDown", 0})
	for range 1023 {
		err = &wrapError{err}
	}
	assert.Equal(t, throttle, classify.Default.Error(err), "1024 errors are walked")
	assert.Equal(t, final, classify.Default.Error(&wrapError{err}), "the 1025th is not")
}

// endlessError wraps a new error each time it is asked.
type endlessError struct{ asked *int }

func (*endlessError) Error() string { panic("Error was called") }
func (e *endlessError) Unwrap() error {
	*e.asked++
	return &endlessError{e.asked}
}

type countedError struct {
	err   error
	asked *int
}

func (countedError) Error() string { panic("Error was called") }
func (e countedError) Unwrap() error {
	*e.asked++
	return e.err
}

func TestPanicOfAnErrorsOwnMethodIsNotHidden(t *testing.T) {
	assert.PanicsWithValue(t, "bug", func() { classify.Default.Error(brokenError{}) })
	// The next walk is not affected.
	assert.Equal(t, throttle, classify.Default.Error(errors.Join(silent{&apiError{"SlowDown", 0}})))
}

type brokenError struct{}

func (brokenError) Error() string     { panic("Error was called") }
func (brokenError) ErrorCode() string { panic("bug") }
