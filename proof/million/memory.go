package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// heapBytes is what lives on the heap.
func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// memory is the most that the process has had from the system, as far as that says.
func memory() string {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if peak, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return "peak memory of the process " + strings.TrimSpace(peak)
		}
	}
	return fmt.Sprintf("%d MB from the system", m.Sys>>20)
}

// systemBytes is what the process has from the system and uses: heap and stacks.
func systemBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
