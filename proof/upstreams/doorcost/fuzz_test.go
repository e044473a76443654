package main

import "testing"

// FuzzReadWrk reads anything for what wrk prints: it is numbers or an error.
func FuzzReadWrk(f *testing.F) {
	f.Add([]byte("  12 requests in 1.00s, 1MB read\nRequests/sec:  11.90\n"))
	f.Add([]byte("  12 requests in 1.00s\n  Socket errors: connect 1\nRequests/sec:  1\n"))
	f.Add([]byte("99999999999999999999 requests in \nRequests/sec: 1.2.3\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		requests, throughput, err := readWrk(out)
		if err == nil && (requests < 0 || throughput < 0) {
			t.Fatalf("%d requests, %v/s", requests, throughput)
		}
	})
}
