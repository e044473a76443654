package main

// request asks valgrind, in which this program runs, for something: the first
// argument says what. Outside of valgrind the answer is 0 and nothing happens.
//
//go:noescape
func request(args *[6]uint64) (answer uint64)
