package engine_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/engine"
)

// A Call stays on its caller's stack: at most 64 bytes.
func TestLayout(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(engine.Call{}), uintptr(64))
	assert.LessOrEqual(t, unsafe.Sizeof(engine.Decision{}), uintptr(16))
}
