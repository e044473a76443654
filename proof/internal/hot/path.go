// Package hot is the paths that a program walks all the time, each as a loop: what
// proof/instructions counts the instructions of, and proof/lines the cache lines.
// So both speak of the same paths, and a path that is added is in both.
//
// No path waits, and none looks at the clock but where its limiter does so by
// itself. What a loop ends with is its own, so that several may run at once, but
// for those at a given time: they are one goroutine's.
package hot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"
	"time"
)

// Path is one hot path.
type Path struct {
	Name string
	// Over is the path that is subtracted: what the caller would do anyway. ""
	// only for those that others are over.
	Over string
	// Like is a path that this one must not cost more than, to the instruction;
	// "" for none.
	Like string
	// Make returns the loop, over fresh state.
	Make func() func(n int)
	// Rare says that now and then an operation of the path does more: short loops,
	// many times, show what the others do.
	Rare bool
}

// The paths that others are over.
const (
	Empty    = "loop"
	Bare     = "op"
	BareHTTP = "http-base"
)

// Paths are all of them, in the order of the tables.
func Paths() []Path {
	return append(append(append(floor(), calls()...), decisions()...), parts()...)
}

//go:noinline
func bareOp(context.Context) (int, error) { return 1, nil }

// op is a variable, so that the call stays indirect.
var op = bareOp

func floor() []Path {
	return []Path{
		{Name: Empty, Make: func() func(int) {
			return func(n int) {
				for range n {
				}
			}
		}},
		{Name: Bare, Make: func() func(int) {
			ctx := context.Background()
			return func(n int) {
				for range n {
					if _, err := op(ctx); err != nil {
						panic(err)
					}
				}
			}
		}},
		{Name: BareHTTP, Make: overHTTP(base{})},
	}
}

// made is a constructor's result, whose error is a mistake of this package.
func made[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Errorf("reprise/proof: a path cannot be made: %w", err))
	}
	return v
}

// still is a clock that stands, so that a limiter's path does not depend on the
// machine.
type still struct{}

// epoch is where it stands: a quarter of a second after a full one, so that the
// limiter's half seconds always lie the same. It has a monotonic reading, as what
// the system's clock returns has: an instant without one is dearer to add to.
var epoch = func() time.Time {
	now := time.Now()
	return now.Add(time.Second/4 - time.Duration(now.Nanosecond()))
}()

func (still) Now() time.Time                                        { return epoch }
func (still) Sleep(context.Context, time.Duration, <-chan struct{}) {}

// apiError is a service's error: it has a code.
type apiError struct{}

func (apiError) Error() string     { return "api error ThrottlingException" }
func (apiError) ErrorCode() string { return "ThrottlingException" }

// statusError has a status and nothing else.
type statusError struct{}

func (statusError) Error() string       { return "503" }
func (statusError) HTTPStatusCode() int { return 503 }

// reset is what net/http's client returns when the server closes the connection.
var reset = &url.Error{Op: "Get", URL: "http://127.0.0.1/", Err: &net.OpError{
	Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET),
}}

var errPlain = errors.New("plain")
