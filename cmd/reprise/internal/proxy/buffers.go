package proxy

import "sync"

// bufferSize is that of the pieces in which answers are passed on, in bytes.
const bufferSize = 32 << 10

// buffers lends them. The zero buffers are ready.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return make([]byte, bufferSize)
}

func (b *buffers) Put(p []byte) {
	if len(p) == bufferSize {
		b.pool.Put((*[bufferSize]byte)(p))
	}
}
