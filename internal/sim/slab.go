package sim

const (
	blockBits = 10
	blockSize = 1 << blockBits
)

// slab is an array that grows in blocks: what it holds never moves, and growing
// neither copies what is there nor leaves a copy to the collector.
type slab[T any] struct {
	blocks []*[blockSize]T
	made   uint32
}

func (s *slab[T]) at(i uint32) *T { return &s.blocks[i>>blockBits][i%blockSize] }

// add returns the index of one more.
func (s *slab[T]) add() uint32 {
	i := s.made
	if i>>blockBits == uint32(len(s.blocks)) {
		s.blocks = append(s.blocks, new([blockSize]T))
	}
	s.made++
	return i
}
