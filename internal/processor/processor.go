// Package processor tells goroutines that run at the same time apart, so that
// what each of them writes can lie on a cache line of its own.
//
// A processor is a P of the Go runtime: what runs a goroutine, one of GOMAXPROCS.
// The language has nothing that belongs to one but sync.Pool, and asking a pool
// costs several times the add that it is asked for (BenchmarkID, with the build tag
// reprise_portable and without). So [ID] asks the runtime itself, by a name that it
// keeps for those who do (linked.go), and a pool where that name is not there or not
// wanted: other compilers, and that build tag (pooled.go).
package processor
