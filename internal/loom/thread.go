package loom

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"

	"go.uber.org/atomic"
)

// MaxThreads is how many threads a trial may have.
const MaxThreads = 4

// op is what a thread is about to do: one operation on one word.
type op struct {
	word  any // its address
	write bool
}

func (o op) commutes(with op) bool {
	return o.word != with.word || !o.write && !with.write
}

// thread is one coroutine of a trial, which stands before its next step.
type thread struct {
	index   int
	next    func() (op, bool)
	stop    func()
	yield   func(op) bool
	pending op
	done    bool
	own     int // steps it has taken
	err     error
}

// running is the thread that has control, nil outside of a trial. Written by
// whoever gives control; it publishes nothing.
var running atomic.Pointer[thread]

// errAbandoned unwinds a thread that is not let go on.
var errAbandoned = errors.New("reprise/loom: abandoned")

// Step is called before each operation on a shared word. write says that it may
// change the word. It returns when the operation is to be done now; outside of a
// trial at once.
func Step(word any, write bool) {
	if t := running.Load(); t != nil && !t.yield(op{word, write}) {
		panic(errAbandoned)
	}
}

// Thread returns the number of the thread that has control, and false outside of
// a trial.
func Thread() (index int, ok bool) {
	if t := running.Load(); t != nil {
		return t.index, true
	}
	return 0, false
}

// start makes a thread that stands before its first step.
func start(index int, body func()) *thread {
	t := &thread{index: index}
	t.next, t.stop = iter.Pull(func(yield func(op) bool) {
		t.yield = yield
		defer func() {
			if r := recover(); r != nil && r != any(errAbandoned) {
				t.err = fmt.Errorf("thread %d panics: %v\n%s", index, r, debug.Stack())
			}
		}()
		body()
	})
	t.resume()
	return t
}

// resume lets the thread do its pending step and all up to the next.
func (t *thread) resume() {
	running.Store(t)
	o, more := t.next()
	running.Store(nil)
	t.pending, t.done = o, !more
}

// abandon unwinds what the thread still has to do.
func (t *thread) abandon() {
	running.Store(t)
	t.stop()
	running.Store(nil)
}
