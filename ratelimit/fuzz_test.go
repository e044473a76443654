package ratelimit_test

import (
	"testing"
	"time"
)

// FuzzOperations runs a sequence of operations against the model: three bytes
// each, the kind and the time since the one before, which is at least 0.1 ms so
// that no level comes nearer to a token than float64 can tell.
func FuzzOperations(f *testing.F) {
	f.Add(uint32(0), []byte("\x00\x10\x00\x01\x80\x00\x02\x20\x00\x00\x01\x00"))
	f.Add(uint32(999_999_999), []byte("\x02\xff\x3f\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01\x40\x00"))
	f.Fuzz(func(t *testing.T, phase uint32, ops []byte) {
		p := newPair(t, int64(phase%1e9))
		now := int64(0)
		for ; len(ops) >= 3; ops = ops[3:] {
			// Up to 6.5 s in steps of 0.1 ms, or with the top bit up to an hour, and
			// never a round number of anything.
			pause := int64(ops[1]) | int64(ops[2]&0x7f)<<8
			step := int64(200_003)
			if ops[2]&0x80 != 0 {
				step = 109_861_237
			}
			now += 100_019 + pause*step
			switch ops[0] % 8 {
			case 0, 1, 2:
				p.acquire(now)
			case 3, 4:
				p.update(now, false)
			case 5:
				if sent := now - int64(ops[0]>>3)*20_000_003; ops[0] >= 128 {
					p.throttle(now, sent, time.Second)
				} else {
					p.update(now, true)
				}
			case 6:
				for range 20 {
					p.update(now, false)
					now += 100_019
				}
			case 7:
				for n := 0; n < 50 && p.acquire(now) == 0; n++ {
					now += 100_019
				}
			}
			p.compare(now)
		}
	})
}

// FuzzInstants gives a limiter any instants in any order: it never panics, never
// admits above a burst and a refill, and every wait is positive.
func FuzzInstants(f *testing.F) {
	f.Add(int64(1), int64(0), int64(-1), int64(1)<<62)
	f.Add(int64(1e9), int64(3600e9), int64(1e9), int64(2e9))
	f.Fuzz(func(t *testing.T, a, b, c, d int64) {
		l, _ := limited(t, 20)
		limit := 0.0
		latest := int64(600 * time.Millisecond)
		limit = stats(l, latest).Capacity
		fill := stats(l, latest).FillRate
		admitted := 0.0
		for _, now := range []int64{a, b, c, d, a, c, b} {
			if span := now - latest; now > latest {
				latest = now
				limit += min(fill*time.Duration(span).Seconds(), limit)
			}
			for range 64 {
				wait := l.AcquireNanos(now)
				if wait == 0 {
					admitted++
				}
				if wait < 0 {
					t.Fatalf("wait %v", wait)
				}
			}
			if admitted > limit+1e-6 {
				t.Fatalf("%v admitted, at most %v", admitted, limit)
			}
			w := l.Wait()
			if wait, ok := w.AdmitNanos(now); ok {
				admitted++
			} else if wait <= 0 {
				t.Fatalf("wait %v", wait)
			}
			w.Leave()
		}
		for _, now := range []int64{d, c, b, a} {
			l.UpdateNanos(now, now%2 == 0)
			s := stats(l, now)
			if !(s.Level >= 0 && s.Level <= s.Capacity && s.FillRate >= 0.5) {
				t.Fatalf("%+v", s)
			}
		}
	})
}
