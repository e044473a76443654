package replay

import (
	"io"
	"sort"
)

// source reads a file and can say on which line an offset of it is, for as long
// as the offset is ahead of the last forget. That keeps it to the newlines of one
// case, and works on a pipe, which cannot be read twice.
type source struct {
	name     string
	r        io.Reader
	read     int64
	lines    int     // newlines forgotten
	start    int64   // of the line that the last forgotten newline began
	newlines []int64 // offsets behind each newline that is not forgotten
}

// Read is io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			s.newlines = append(s.newlines, s.read+int64(i)+1)
		}
	}
	s.read += int64(n)
	return n, err
}

// forget drops what is needed to place offsets before this one.
func (s *source) forget(offset int64) {
	n := s.before(offset)
	if n == 0 {
		return
	}
	s.lines += n
	s.start = s.newlines[n-1]
	s.newlines = append(s.newlines[:0], s.newlines[n:]...)
}

// place returns the line and the column, in bytes, of an offset; both from 1.
func (s *source) place(offset int64) (line, column int) {
	n := s.before(offset)
	start := s.start
	if n > 0 {
		start = s.newlines[n-1]
	}
	return s.lines + n + 1, int(max(offset-start, 0)) + 1
}

// before counts the newlines that come before an offset.
func (s *source) before(offset int64) int {
	return sort.Search(len(s.newlines), func(i int) bool { return s.newlines[i] > offset })
}
