//go:build gc && !tinygo && !reprise_loom && !reprise_portable

package processor

import _ "unsafe" // go:linkname wants it

// ID returns a number below GOMAXPROCS that no goroutine running on another
// processor was told at the same time. It is a hint: the caller may run elsewhere a
// moment later, so it says where to write, never that nobody else does. Wait-free,
// allocates nothing, reads no clock.
//
// Safety: procPin keeps this goroutine on its processor until procUnpin and returns
// the processor's index. Between the two nothing runs that could block, panic,
// allocate or grow the stack, they are always called as a pair, and nothing here
// points into the runtime. That both keep their names and types is what the runtime
// promises where they are declared (go.dev/issue/67401); a toolchain that broke it
// would not link, and reprise_portable builds without them.
func ID() int {
	id := procPin()
	procUnpin()
	return id
}

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()
