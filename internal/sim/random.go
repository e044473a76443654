package sim

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// stream is one random source. Each use has its own, so that two policies which
// draw different numbers of delays still meet the same arrivals.
type stream struct{ pcg rand.PCG }

// purpose numbers the streams of a seed.
type purpose uint64

const (
	forArrivals purpose = iota
	forCallers
	forKeys
	forService
	forErrors
	forJitter // and one more for each layer

	forLoops purpose = 1 << 32 // beyond all layers
)

func newStream(seed uint64, for_ purpose) *stream {
	s := new(stream)
	s.pcg.Seed(seed, 0x9e3779b97f4a7c15*uint64(for_+1))
	s.pcg.Uint64()
	return s
}

// Uint64 makes a stream an engine's fastbackoff.Source.
func (s *stream) Uint64() uint64 { return s.pcg.Uint64() }

// share draws from [0, 1).
func (s *stream) share() float64 { return float64(s.pcg.Uint64()>>11) / (1 << 53) }

// below draws from 0..n-1; the bias is below 2^-32.
func (s *stream) below(n uint32) uint32 {
	hi, _ := bits.Mul64(s.pcg.Uint64(), uint64(n))
	return uint32(hi)
}

// exponential draws with mean 1.
func (s *stream) exponential() float64 { return -math.Log(1 - s.share()) }

// normal draws with mean 0 and deviation 1.
func (s *stream) normal() float64 {
	return math.Sqrt(2*s.exponential()) * math.Cos(2*math.Pi*s.share())
}

// mix spreads a key over 64 bits.
func mix(key uint64) uint64 {
	key = (key ^ key>>30) * 0xbf58476d1ce4e5b9
	key = (key ^ key>>27) * 0x94d049bb133111eb
	return key ^ key>>31
}
