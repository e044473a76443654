package ratelimit

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/internal/pad"
)

// Sizes that were chosen: they fail to compile when they change.
const (
	_ = uint(unsafe.Sizeof(slot{}) - pad.CacheLine)
	_ = uint(pad.CacheLine - unsafe.Sizeof(slot{}))
	_ = uint(1<<(64-indexShift) - slots)
	_ = uint(slots - 1<<(64-indexShift))
)

func TestLayout(t *testing.T) {
	var l Limiter
	assert.GreaterOrEqual(t, unsafe.Offsetof(l.anchor), unsafe.Offsetof(l.current)+pad.CacheLine, "the hot words are away from what New writes")
	assert.Less(t, unsafe.Offsetof(l.current), unsafe.Offsetof(l.gate)+64, "the pointer and the gate share a line")
	assert.GreaterOrEqual(t, unsafe.Offsetof(l.gate), unsafe.Offsetof(l.queue)+pad.CacheLine, "waiters' word is on another")
	assert.Zero(t, (unsafe.Offsetof(l.queue)+unsafe.Offsetof(l.queue.waiting))%8)
	assert.Zero(t, (unsafe.Offsetof(l.gate)+unsafe.Offsetof(l.gate.word))%8)
	assert.Zero(t, (unsafe.Offsetof(l.quiet)+unsafe.Offsetof(l.quiet.word))%8)
	assert.Less(t, unsafe.Offsetof(l.quiet), unsafe.Offsetof(l.gate)+64, "and so does what a success looks at")
	var p page
	assert.GreaterOrEqual(t, unsafe.Offsetof(p.slot), uintptr(pad.CacheLine), "the page's word is apart from the slots")
	assert.LessOrEqual(t, unsafe.Offsetof(p.free), uintptr(56), "a publication writes one line for both words")
	assert.LessOrEqual(t, unsafe.Offsetof(p.slot[0].version), uintptr(56), "an admission reads one line of a slot")
	assert.LessOrEqual(t, unsafe.Sizeof(p), uintptr(2304), "a size class")
	assert.Zero(t, unsafe.Offsetof(p.slot)%8)
	assert.LessOrEqual(t, unsafe.Sizeof(Waiter{}), uintptr(16))
	assert.Zero(t, unsafe.Offsetof(p.word)%8)
}
