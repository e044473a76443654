package path

import (
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"

	"github.com/reprise-go/reprise/atomicbucket"
	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/bench/internal/peer"
)

func ourBucket(capacity, tokens uint32) *atomicbucket.Bucket {
	b, err := atomicbucket.New(capacity)
	if err != nil || !b.TryTake(capacity-tokens) {
		panic("no such bucket")
	}
	return b
}

func awsBucket(capacity, tokens uint) *ratelimit.TokenBucket {
	b := ratelimit.NewTokenBucket(capacity)
	if _, ok := b.Retrieve(capacity - tokens); !ok {
		panic("no such bucket")
	}
	return b
}

// gives is a token given to a bucket of that capacity with so many in it.
func gives(capacity, tokens int) []Side {
	return []Side{
		side("reprise", func() measure.Loop {
			b := ourBucket(uint32(capacity), uint32(tokens))
			return func(n int) {
				for range n {
					b.Give(1)
				}
			}
		}),
		side("mutex", func() measure.Loop {
			b := peer.NewBucket(capacity, tokens)
			return func(n int) {
				for range n {
					b.Give(1)
				}
			}
		}),
		side("aws-bucket", func() measure.Loop {
			b := awsBucket(uint(capacity), uint(tokens))
			return func(n int) {
				for range n {
					b.Refund(1)
				}
			}
		}),
		side("aws-standard", func() measure.Loop { return awsToken(peer.Standard(uint(capacity), uint(tokens))) }),
	}
}

// takes is a retry's cost taken, or refused, and given back where it was taken.
func takes(tokens int) []Side {
	return []Side{
		side("reprise", func() measure.Loop {
			b := ourBucket(full, uint32(tokens))
			return func(n int) {
				for range n {
					if b.TryTake(cost) {
						b.Give(cost)
					}
				}
			}
		}),
		side("mutex", func() measure.Loop {
			b := peer.NewBucket(full, tokens)
			return func(n int) {
				for range n {
					if b.Take(cost) {
						b.Give(cost)
					}
				}
			}
		}),
		side("aws-bucket", func() measure.Loop {
			b := awsBucket(full, uint(tokens))
			return func(n int) {
				for range n {
					if _, ok := b.Retrieve(cost); ok {
						b.Refund(cost)
					}
				}
			}
		}),
	}
}

const cost = 14 // R6

func buckets() []Path {
	return []Path{
		{Name: "bucket-full", What: "A token given to a bucket that is full, as after a success. aws-bucket is the SDK's bucket by itself; aws-standard is the way to it that a client has, a token for the attempt and its release.", Sides: gives(full, full)},
		{Name: "bucket-moving", What: "A token given to one that is not.", Sides: gives(bottom, enough)},
		{Name: "bucket-empty", What: "A retry's cost asked of an empty one.", Sides: takes(0)},
		{Name: "bucket-take-give", What: "A retry's cost taken and given back.", Sides: takes(full / 2)},
	}
}
