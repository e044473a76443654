package differential_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"testing/cryptotest"
)

// draws are what the SDK will read from crypto/rand, known beforehand: 53 bits out
// of 7 bytes each. The engine sees the next one and takes none, for only the SDK
// says when it draws.
type draws struct {
	stream *rand.ChaCha8
	next   uint64
}

// setDraws makes crypto/rand give the draws of a seed until t ends.
func setDraws(t *testing.T, seed uint64) *draws {
	cryptotest.SetGlobalRandom(t, seed)
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	d := &draws{stream: rand.NewChaCha8(key)}
	d.advance()
	return d
}

func (d *draws) advance() {
	var b [8]byte
	_, _ = d.stream.Read(b[1:]) // never fails
	d.next = binary.BigEndian.Uint64(b[:]) & (1<<53 - 1) << 11
}

// Uint64 is of fastbackoff.Source.
func (d *draws) Uint64() uint64 { return d.next }
