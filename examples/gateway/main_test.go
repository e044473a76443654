package main

import "os"

// Example runs the program.
func Example() {
	if err := run(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// /orders hangs up on one in four: 20 of 20 calls succeeded, 26 requests sent, 500 tokens left
	// /stock is down: 0 of 30 calls succeeded, 65 requests sent, 10 tokens left
	// /search stalls once: 3 of 3 calls succeeded, 4 requests sent, 500 tokens left
	// a client that retries by itself gets 503 after 3 requests
}
