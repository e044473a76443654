//go:build !amd64

package main

// request knows valgrind's sign for amd64 alone.
func request(*[6]uint64) (answer uint64) { return 0 }
