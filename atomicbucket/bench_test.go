package atomicbucket_test

import (
	"testing"

	"github.com/reprise-go/reprise/atomicbucket"
)

func BenchmarkBucket(b *testing.B) {
	for _, impl := range []struct {
		name string
		make func(level uint32) bucket
	}{
		{"atomic", func(level uint32) bucket {
			q, _ := atomicbucket.New(500)
			q.TryTake(500 - level)
			return q
		}},
		{"mutex", func(level uint32) bucket { return &model{level: level, capacity: 500} }},
	} {
		for _, path := range []struct {
			name  string
			level uint32
			step  func(bucket)
		}{
			{"full-credit", 500, func(q bucket) { q.Give(1) }},
			{"refusal", 0, func(q bucket) { q.TryTake(14) }},
			{"take-give", 400, func(q bucket) {
				if q.TryTake(14) {
					q.Give(14)
				}
			}},
		} {
			b.Run("path="+path.name+"/impl="+impl.name, func(b *testing.B) {
				b.ReportAllocs()
				q := impl.make(path.level)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						path.step(q)
					}
				})
			})
		}
	}
}
