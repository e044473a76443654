//go:build !reprise_loom

package atomic

import (
	"sync"

	"go.uber.org/atomic"
)

// The words.
type (
	Bool           = atomic.Bool
	Int32          = atomic.Int32
	Int64          = atomic.Int64
	Uint32         = atomic.Uint32
	Uint64         = atomic.Uint64
	Uintptr        = atomic.Uintptr
	Float64        = atomic.Float64
	Pointer[T any] = atomic.Pointer[T]
)

// What package sync has.
type (
	Map  = sync.Map
	Pool = sync.Pool
)
