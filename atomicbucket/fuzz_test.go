package atomicbucket_test

import (
	"encoding/binary"
	"testing"

	"github.com/reprise-go/reprise/atomicbucket"
)

// FuzzOperations reads operations, five bytes each, and holds the bucket
// against the model after every one.
func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 14, 0, 0, 0, 1, 14, 0, 0, 0})
	f.Add([]byte{0, 0xf4, 1, 0, 0, 2, 50, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{2, 0, 0, 0, 0, 1, 1, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0x7f, 1, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, script []byte) {
		b, m := full(t, 500), &model{level: 500, capacity: 500}
		for ; len(script) >= 5; script = script[5:] {
			n := binary.LittleEndian.Uint32(script[1:])
			switch script[0] % 3 {
			case 0:
				if got, want := b.TryTake(n), m.TryTake(n); got != want {
					t.Fatalf("TryTake(%d) = %v, model %v", n, got, want)
				}
			case 1:
				b.Give(n)
				m.Give(n)
			case 2:
				if n > atomicbucket.MaxCapacity {
					if b.SetCapacity(n) == nil {
						t.Fatalf("SetCapacity(%d) took a capacity out of range", n)
					}
					continue
				}
				if b.SetCapacity(n) != nil || m.SetCapacity(n) != nil {
					t.Fatalf("SetCapacity(%d) refused", n)
				}
			}
			level, capacity := b.Load()
			if wantLevel, wantCapacity := m.Load(); level != wantLevel || capacity != wantCapacity {
				t.Fatalf("%d of %d, model %d of %d", level, capacity, wantLevel, wantCapacity)
			}
		}
	})
}
