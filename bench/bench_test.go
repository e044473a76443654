package bench_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/bench/internal/path"
)

var procs = []int{1, 2, 4, 8}

// Benchmark is every side of every path: path=NAME/impl=NAME/procs=N. The
// processors are set here and not by -cpu, so that benchstat can pivot by them:
//
//	go test -run '^$' -bench '/path=success$' -count 6 | tee new.txt
//	go tool benchstat -col /impl -row /path,/procs new.txt
//
// The report's figures are not from here but from interleaved passes: see the
// package measure.
func Benchmark(b *testing.B) {
	for _, p := range path.All() {
		b.Run("path="+p.Name, func(b *testing.B) {
			for _, s := range p.Sides {
				b.Run("impl="+s.Impl, func(b *testing.B) {
					for _, n := range procs {
						if s.Fresh == nil {
							b.Run(fmt.Sprintf("procs=%d", n), func(b *testing.B) { run(b, s, n) })
						} else if n == 1 {
							b.Run("procs=1", func(b *testing.B) { fresh(b, p, s) })
						}
					}
				})
			}
		})
	}
}

// instances are kept while go test looks for the right b.N: some take a second to
// get into the state that is measured.
var instances = make(map[string]path.Instance)

func run(b *testing.B, s path.Side, procs int) {
	b.ReportAllocs()
	measure.WithProcs(procs, func() {
		i, ok := instances[b.Name()]
		if !ok {
			i = s.New(procs)
			instances[b.Name()] = i
		}
		b.ResetTimer()
		measure.Run(i.Loops, max(b.N/procs, 1))
		b.StopTimer()
	})
}

// fresh repeats a side that can be done once in the life of a process.
func fresh(b *testing.B, p path.Path, s path.Side) {
	var elapsed time.Duration
	total := 0
	for total < b.N && elapsed < 10*time.Millisecond {
		n, took, err := p.RunFresh(s)
		if err != nil {
			b.Fatal(err)
		}
		total, elapsed = total+n, elapsed+took
	}
	b.ReportMetric(float64(elapsed)/float64(total), "ns/op")
}

func TestMain(m *testing.M) {
	path.FreshMain()
	os.Exit(m.Run())
}
