package peer

import "context"

// Attempts is what every Doer allows a call, the first attempt included.
const Attempts = 3

// Op is one operation in the two shapes that libraries call. Both must be set
// and do the same.
type Op struct {
	Context func(context.Context) (int, error)
	Plain   func() (int, error)
}

// Doer makes calls.
type Doer interface {
	// Name is the library's, as in impl=NAME.
	Name() string
	// Errors are an error that the library tries again after and one that ends the
	// call, marked in the way it wants.
	Errors() (again, final error)
	// Do is one call of op.
	Do(ctx context.Context, op Op) (int, error)
	// Loop is n calls of op, one after the other.
	Loop(ctx context.Context, op Op, n int)
}
