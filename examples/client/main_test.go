package main

import "os"

// Example runs the program.
func Example() {
	if err := run(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// GET, one request in three fails: 20 of 20 calls succeeded, 29 requests sent, 500 tokens left
	// POST, all fail: 0 of 1 calls succeeded, 1 requests sent, 500 tokens left; not_replayable: 1
	// POST with a key, one in two fails: 4 of 4 calls succeeded, 7 requests sent, 500 tokens left
	// GET, all fail: 0 of 30 calls succeeded, 65 requests sent, 10 tokens left; max_attempts: 17; quota: 13
	// nobody listens: Get "http://ADDR": reprise/engine: retry quota refused (a retry costs 14 tokens, 10 of 500 are left) after 1 attempt: dial tcp ADDR: connect: connection refused
}
