package atomicbucket_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/atomicbucket"
	"github.com/reprise-go/reprise/internal/pad"
)

// A Bucket fills its line, so that what lies behind it is on another.
func TestLayout(t *testing.T) {
	assert.EqualValues(t, pad.CacheLine, unsafe.Sizeof(atomicbucket.Bucket{}))
	b := full(t, 1)
	assert.Zero(t, uintptr(unsafe.Pointer(b))%8, "a 64-bit word must lie on an 8-byte border, on 32-bit machines too")
}
