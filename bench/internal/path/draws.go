package path

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/cenkalti/backoff/v5"
	sethvargo "github.com/sethvargo/go-retry"
	"github.com/valyala/fastrand"

	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/fastbackoff"
)

//go:noinline
func spend(time.Duration) {}

// delays are draws, in a loop of their own: what is compared is a few nanoseconds,
// and a call through a function value one of them.
func delays(impl string, setup func() func(n int) time.Duration) Side {
	return Side{Impl: impl, New: func(procs int) Instance {
		return Instance{Loops: each(procs, func() measure.Loop {
			draw := setup()
			return func(n int) { spend(draw(n)) }
		})}
	}}
}

func draws() []Path {
	schedule := fastbackoff.Default()
	var shards fastbackoff.Shards
	return []Path{{
		Name: "jitter",
		What: "The first delay, jitter drawn. reprise is the default source, reprise-rand the other; fastrand and crypto-rand are the same schedule with those generators, the others are whole.",
		Sides: []Side{
			delays("reprise", func() func(int) time.Duration {
				return func(n int) (sum time.Duration) {
					for range n {
						sum += schedule.Delay(fastbackoff.Throttling, 0, shards.Uint64())
					}
					return sum
				}
			}),
			delays("reprise-rand", func() func(int) time.Duration {
				return func(n int) (sum time.Duration) {
					for range n {
						sum += schedule.Delay(fastbackoff.Throttling, 0, fastbackoff.Rand{}.Uint64())
					}
					return sum
				}
			}),
			delays("fastrand", func() func(int) time.Duration {
				return func(n int) (sum time.Duration) {
					for range n {
						sum += schedule.Delay(fastbackoff.Throttling, 0, uint64(fastrand.Uint32())<<32)
					}
					return sum
				}
			}),
			delays("math-rand", func() func(int) time.Duration {
				return func(n int) (sum time.Duration) {
					for range n {
						sum += time.Duration(rand.Float64() * float64(time.Second))
					}
					return sum
				}
			}),
			delays("crypto-rand", func() func(int) time.Duration {
				b := make([]byte, 8)
				return func(n int) (sum time.Duration) {
					for range n {
						_, _ = cryptorand.Read(b) // never fails
						sum += schedule.Delay(fastbackoff.Throttling, 0, binary.LittleEndian.Uint64(b))
					}
					return sum
				}
			}),
			// The SDK's own backoff, which draws from crypto/rand through math/big.
			delays("aws-standard", func() func(int) time.Duration {
				b := retry.NewExponentialJitterBackoff(retry.DefaultMaxBackoff)
				return func(n int) (sum time.Duration) {
					for range n {
						d, err := b.BackoffDelay(1, nil)
						if err != nil {
							panic(err)
						}
						sum += d
					}
					return sum
				}
			}),
			// For one goroutine, as its documentation has it.
			delays("cenkalti", func() func(int) time.Duration {
				b := backoff.NewExponentialBackOff()
				return func(n int) (sum time.Duration) {
					for range n {
						b.Reset()
						sum += b.NextBackOff()
					}
					return sum
				}
			}),
			delays("sethvargo", func() func(int) time.Duration {
				b := sethvargo.WithFullJitter(sethvargo.NewConstant(time.Second))
				return func(n int) (sum time.Duration) {
					for range n {
						d, _ := b.Next()
						sum += d
					}
					return sum
				}
			}),
		},
	}}
}
