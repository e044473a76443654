//go:build linux || darwin

package engine

import (
	"context"
	"os"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// onReadOnlyPages calls f with a group that holds "hot", referenced, and that can
// no longer be written, and neither can the key's engine: a store is a fault,
// which f sees as a panic.
func onReadOnlyPages(t *testing.T, f func(g *Group[string])) {
	t.Helper()
	// Safety: the pages are ours until Munmap, page-aligned and larger than what is
	// put there. The collector does not see the pointers in them, so it is off, and
	// what they point to stays.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	size := os.Getpagesize()
	pages, err := syscall.Mmap(-1, 0, 2*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(pages)) }()
	g := (*Group[string])(unsafe.Pointer(&pages[0]))
	m := (*member)(unsafe.Pointer(&pages[size]))
	require.Less(t, int(unsafe.Sizeof(*g)), size)

	template, err := New()
	require.NoError(t, err)
	g.template, g.overflow = func(string) *Engine { return template }, template
	g.slots.init(10)
	g.overlay.Store(&overlay{generation: 1})
	m.key = "hot"
	m.engine.begins(g.overlay.Load().policy(recipeOf(nil, template)), &m.quota, &m.counts)
	g.members.Store(m.key, m)
	require.Same(t, &m.engine, g.For("hot"))
	require.Equal(t, referenced, m.mark.Load()&stateBits)

	require.NoError(t, syscall.Mprotect(pages, syscall.PROT_READ))
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	f(g)
}

// The look-up of a hot key stores nothing in the group, nor in the engine: they
// work on memory that cannot be written. And so does the key's call that succeeds
// at once, from For to its end, by each way in.
func TestGroupLookUpStoresNothing(t *testing.T) {
	ctx, none := t.Context(), func(context.Context) error { return nil }
	onReadOnlyPages(t, func(g *Group[string]) {
		assert.NotPanics(t, func() {
			for range 1000 {
				c := g.For("hot").Begin()
				c.Succeed()
				_, err := Do(ctx, g.For("hot"), func(context.Context) (int, error) { return 1, nil })
				if err != nil || Run(ctx, g.For("hot"), none) != nil {
					panic("no success")
				}
			}
		})
	})
}
