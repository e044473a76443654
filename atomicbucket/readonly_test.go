//go:build linux || darwin

package atomicbucket_test

import (
	"os"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/atomicbucket"
)

// onReadOnlyPage calls f with a bucket that init has prepared and whose page can
// then no longer be written: a store is a fault, which f's caller sees as a
// panic.
func onReadOnlyPage(t *testing.T, init, f func(b *atomicbucket.Bucket)) (fault any) {
	t.Helper()
	page, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(page)) }()
	// Safety: the page is ours until Munmap, page-aligned, larger than a Bucket,
	// and a Bucket holds no pointers.
	b := (*atomicbucket.Bucket)(unsafe.Pointer(unsafe.SliceData(page)))
	init(b)
	require.NoError(t, syscall.Mprotect(page, syscall.PROT_READ))
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { fault = recover() }()
	f(b)
	return nil
}

func initFull(b *atomicbucket.Bucket) {
	if err := b.Init(500); err != nil {
		panic(err)
	}
}

func initEmpty(b *atomicbucket.Bucket) {
	initFull(b)
	b.TryTake(500)
}

// A success on a full bucket, a refusal and every reader store nothing: they
// work on memory that cannot be written.
func TestNothingIsStoredWhereNothingChanges(t *testing.T) {
	assert.Nil(t, onReadOnlyPage(t, initFull, func(b *atomicbucket.Bucket) {
		for range 1000 {
			b.Give(1)
		}
	}), "credit to a full bucket")
	assert.Nil(t, onReadOnlyPage(t, initEmpty, func(b *atomicbucket.Bucket) {
		assert.False(t, b.TryTake(5))
		assert.False(t, b.Has(5))
	}), "refusal")
	assert.Nil(t, onReadOnlyPage(t, initEmpty, func(b *atomicbucket.Bucket) { b.Give(0) }), "credit of nothing")
	assert.Nil(t, onReadOnlyPage(t, initFull, func(b *atomicbucket.Bucket) {
		b.Level()
		b.Capacity()
		b.Full()
	}), "readers")
}
