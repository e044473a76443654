package engine

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/internal/pad"
)

// The quota's word shares its line neither with the counters nor with anything
// that lies before or behind; 64-bit words lie on 8-byte borders on 32-bit
// machines too.
func TestStateLayout(t *testing.T) {
	var s state
	assert.Zero(t, unsafe.Offsetof(s.quota))
	assert.GreaterOrEqual(t, unsafe.Offsetof(s.counts)+unsafe.Offsetof(s.counts.retries), unsafe.Sizeof(s.quota))
	for name, offset := range map[string]uintptr{
		"retries":    unsafe.Offsetof(s.counts.retries),
		"stops":      unsafe.Offsetof(s.counts.stops),
		"unsent":     unsafe.Offsetof(s.counts.unsent),
		"recoveries": unsafe.Offsetof(s.counts.recoveries),
		"hookPanics": unsafe.Offsetof(s.counts.hookPanics),
	} {
		assert.Zero(t, (unsafe.Offsetof(s.counts)+offset)%8, name)
	}
	assert.GreaterOrEqual(t, unsafe.Sizeof(s.quota), uintptr(pad.CacheLine))
	assert.GreaterOrEqual(t, unsafe.Sizeof(s), unsafe.Offsetof(s.counts)+unsafe.Sizeof(s.counts)+pad.CacheLine)
}

// So do a group's words and those of its members.
func TestGroupLayout(t *testing.T) {
	var (
		g Group[string]
		m member
		s slots
		c counters
	)
	for name, offset := range map[string]uintptr{
		"group, counts":   unsafe.Offsetof(g.counts),
		"group, slots":    unsafe.Offsetof(g.slots),
		"slots, hand":     unsafe.Offsetof(s.hand),
		"slots, used":     unsafe.Offsetof(s.used),
		"member, mark":    unsafe.Offsetof(m.mark),
		"member, quota":   unsafe.Offsetof(m.quota),
		"member, counts":  unsafe.Offsetof(m.counts),
		"counts, retries": unsafe.Offsetof(c.retries),
	} {
		assert.Zero(t, offset%8, name)
	}
	assert.GreaterOrEqual(t, unsafe.Offsetof(g.members), unsafe.Offsetof(g.slots)+unsafe.Sizeof(g.slots)+pad.CacheLine, "look-ups read away from what searches write")
}
