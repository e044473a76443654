package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	const rounds = `goos: linux
BenchmarkWhole/path=get/impl=net-http/procs=1-2   100   30 ns/op   5 B/op   1 allocs/op
BenchmarkWhole/path=get/impl=net-http/procs=2-2   100   20 ns/op   5 B/op   1 allocs/op
BenchmarkWhole/path=get/impl=go-2/procs=1         100   50 ns/op   5 B/op   1 allocs/op
BenchmarkWhole/path=get/impl=net-http/procs=1-2   100   40 ns/op   5 B/op   1 allocs/op
BenchmarkWhole/path=idle/impl=x/procs=1-2         1     968.2 heap-B/policy   3.000 heap-objects/policy
ok
`
	var out strings.Builder
	require.NoError(t, run(strings.NewReader(rounds), &out))
	for _, line := range []string{
		"Medians of 2 rounds.",
		"| get | net-http | 35 | 20 | 5 | 1 |  |  |",
		"| get | go-2 | 50 |  | 5 | 1 |  |  |",
		"| idle | x |  |  |  |  | 968 | 3 |",
	} {
		assert.Contains(t, out.String(), line)
	}
	for _, bad := range []string{"", "BenchmarkX-2 100 30 ns/op", "BenchmarkX/path=a/impl=b/procs=1 100 x ns/op"} {
		assert.Error(t, run(strings.NewReader(bad), &out), bad)
	}
}
