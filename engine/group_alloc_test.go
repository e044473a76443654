//go:build !race

package engine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/engine"
)

// The look-up of a key that has an engine allocates nothing, whatever the key's
// type; nor does one that finds no room.
func TestGroupAllocations(t *testing.T) {
	type pair struct{ service, region string }
	strs, pairs, ints := newGroup[string](t, 2), newGroup[pair](t, 2), newGroup[int64](t, 2)
	arrays, anys := newGroup[[64]byte](t, 2), newGroup[any](t, 2)
	var anyKey any = "tenant"
	full := newGroup[string](t, 1)
	full.For("first")
	call := func(e *engine.Engine) {
		c := e.Begin()
		c.Succeed()
	}
	for name, f := range map[string]func(){
		"string":     func() { call(strs.For("upstream.example")) },
		"struct":     func() { call(pairs.For(pair{"dynamodb", "eu-west-1"})) },
		"int":        func() { call(ints.For(1 << 40)) },
		"array":      func() { call(arrays.For([64]byte{1})) },
		"interface":  func() { call(anys.For(anyKey)) },
		"unkeyed":    func() { call(anys.For(nanKey)) },
		"overflow":   func() { call(full.For("second")) },
		"Len, Stats": func() { strs.Len(); strs.Stats() },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, f), name)
	}
}

var nanKey any = func() float32 { zero := float32(0); return zero / zero }()
