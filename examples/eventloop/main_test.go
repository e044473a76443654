package main

import "os"

// Example runs the program.
func Example() {
	if err := run(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// 60 calls in flight, in one goroutine: 59 succeeded
	// sent again: 5 lost requests, 6 answered busy
	// past its deadline: 1
	// 500 of 500 tokens left
}
