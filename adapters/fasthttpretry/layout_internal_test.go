package fasthttpretry

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// A 64-bit word lies on an 8-byte border on 32-bit machines if it leads.
func TestLayout(t *testing.T) {
	assert.Zero(t, unsafe.Offsetof(Client{}.idle)+unsafe.Offsetof(idle{}.nextNanos))
}
