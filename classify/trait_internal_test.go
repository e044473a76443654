package classify

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKindOfName(t *testing.T) {
	for _, c := range []struct {
		path, name string
		want       traits
	}{
		{"net/http", "http2StreamError", kindStreamError},
		{"net/http", "http2ConnectionError", kindConnectionError},
		{"net/http", "http2GoAwayError", kindGoAway},
		{"net/http", "tlsHandshakeTimeoutError", kindTLSHandshakeTimeout},
		{"net/http", "StreamError", 0},
		{"net/http", "http2FrameHeader", 0},
		{"net/http/internal/http2", "StreamError", kindStreamError},
		{"net/http/internal/http2", "GoAwayError", kindGoAway},
		{"golang.org/x/net/http2", "StreamError", kindStreamError},
		{"golang.org/x/net/http2", "ConnectionError", kindConnectionError},
		{"golang.org/x/net/http2", "GoAwayError", kindGoAway},
		{"golang.org/x/net/http2", "http2GoAwayError", 0},
		{"example.com/app/vendor/golang.org/x/net/http2", "GoAwayError", kindGoAway},
		{"example.com/golang.org/x/net/http2", "GoAwayError", 0},
		{"golang.org/x/net/http2/h2c", "GoAwayError", 0},
		{"crypto/tls", "alert", kindTLSAlert},
		{"crypto/tls", "timeoutError", kindTLSHandshakeTimeout},
		{"crypto/tls", "Conn", 0},
		{"example.com/tls", "alert", 0},
		{"", "StreamError", 0},
		{"", "", 0},
	} {
		assert.Equal(t, c.want, kindOfName(c.path, c.name), "%s.%s", c.path, c.name)
	}
}

// typed makes a new type of error for each type argument, so that a test can
// make more of them than the table holds.
type typed[A, B, C, D any] struct{ err error }

func (e *typed[A, B, C, D]) Error() string { return "" }
func (e *typed[A, B, C, D]) Unwrap() error { return e.err }

func crowd3[A, B, C any](add func(error)) {
	add(&typed[A, B, C, int8]{io.EOF})
	add(&typed[A, B, C, int16]{io.EOF})
	add(&typed[A, B, C, int32]{io.EOF})
	add(&typed[A, B, C, int64]{io.EOF})
	add(&typed[A, B, C, string]{io.EOF})
	add(&typed[A, B, C, bool]{io.EOF})
}
func crowd2[A, B any](add func(error)) {
	crowd3[A, B, int8](add)
	crowd3[A, B, int16](add)
	crowd3[A, B, int32](add)
	crowd3[A, B, int64](add)
	crowd3[A, B, string](add)
	crowd3[A, B, bool](add)
}
func crowd1[A any](add func(error)) {
	crowd2[A, int8](add)
	crowd2[A, int16](add)
	crowd2[A, int32](add)
	crowd2[A, int64](add)
	crowd2[A, string](add)
	crowd2[A, bool](add)
}

// TestTraitTableOverflows: more types than slots, all at once from several
// goroutines; each keeps its class, in the table or beside it.
func TestTraitTableOverflows(t *testing.T) {
	t.Cleanup(func() { // what runs later in this process is to find an empty table
		for i := range traitTable {
			traitTable[i].word.Store(0)
			traitTable[i].key.Store(0)
		}
	})
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	crowd1[int8](add)
	crowd1[int16](add)
	crowd1[string](add)
	assert.Greater(t, len(errs), traitSlots)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 3 * len(errs) {
				err := errs[(i+g*len(errs)/4)%len(errs)]
				if v := Default.ExplainError(err); v.Rule != RuleEOF {
					t.Errorf("%T: %v", err, v.Rule)
				}
				if got := traitsOf(err); got != traitsKnown|hasUnwrap|mayBeNil {
					t.Errorf("%T: traits %b", err, got)
				}
			}
		})
	}
	wg.Wait()
	for i := range traitTable {
		slot := &traitTable[i]
		assert.Equal(t, slot.key.Load() != 0, slot.word.Load() != 0, "slot %d is half filled", i)
	}
}

func TestTraitsOfKnownTypes(t *testing.T) {
	assert.Equal(t, traitsKnown|mayBeSentinel|mayBeNil, traitsOf(io.EOF))
	assert.Equal(t, traitsKnown|hasUnwrap|mayBeNil, traitsOf(fmt.Errorf("%w", io.EOF)))
	assert.Equal(t, traitsKnown|hasMultiUnwrap|mayBeNil, traitsOf(errors.Join(io.EOF)))
}
