package peer

import (
	"context"
	"errors"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
)

var errFinal = errors.New("not to be tried again")

// Failsafe is failsafe-go: policy and executor are made once, as both are safe
// for many goroutines; no listener is registered; the last failure comes back as
// it is, which saves its wrapper; Get hands the function no Execution, which saves
// its copy. There is no delay between attempts, its default, but a timer all the
// same. WithContext would copy the executor for each call; it is left out, as the
// context here is the background one that it uses anyway.
type Failsafe struct {
	name string
	x    failsafe.Executor[int]
}

// NewFailsafe returns it without a budget, as it comes.
func NewFailsafe() Failsafe { return newFailsafe("failsafe", false) }

// NewFailsafeBudget returns it with its budget of retries, which is what it has
// in the place of a quota.
func NewFailsafeBudget() Failsafe { return newFailsafe("failsafe-budget", true) }

func newFailsafe(name string, budgeted bool) Failsafe {
	b := retrypolicy.NewBuilder[int]().WithMaxAttempts(Attempts).AbortOnErrors(errFinal).ReturnLastFailure()
	if budgeted {
		b = b.WithBudget(budget.New())
	}
	return Failsafe{name, failsafe.With[int](b.Build())}
}

// Name returns "failsafe" or "failsafe-budget".
func (f Failsafe) Name() string { return f.name }

// Errors are the service's own and one to abort on.
func (Failsafe) Errors() (again, final error) { return Throttled(), errFinal }

// Do is Executor.Get.
func (f Failsafe) Do(_ context.Context, op Op) (int, error) { return f.x.Get(op.Plain) }

// Loop is n times Executor.Get.
func (f Failsafe) Loop(_ context.Context, op Op, n int) {
	x, plain := f.x, op.Plain
	for range n {
		if _, err := x.Get(plain); err != nil {
			fell(err)
		}
	}
}
