package httpretry

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever the body, its pieces and its end: the reader gets the same bytes and
// the same end.
func FuzzAheadBody(f *testing.F) {
	f.Add([]byte("{}"), 3, 2, 1, false)
	f.Add(bytes.Repeat([]byte("<a>"), 300), 7, 512, 100, true)
	f.Add([]byte{}, 1, 1, 1, false)
	cut := errors.New("cut")
	f.Fuzz(func(t *testing.T, body []byte, piece, limit, take int, fails bool) {
		end := io.EOF
		if fails {
			end = cut
		}
		source := &piecewise{body, within(piece, 1, 1<<16), end}
		b := newAheadBody(&http.Response{Body: io.NopCloser(source)}, within(limit, 1, peekLimit))
		b.fill()
		if !bytes.HasPrefix(body, b.start()) || len(b.start()) < min(len(body), len(b.buffer)) {
			t.Fatalf("%d of %d bytes are there", len(b.start()), len(body))
		}
		var got []byte
		var err error
		for p := make([]byte, within(take, 1, 1<<16)); err == nil; {
			var n int
			n, err = b.Read(p)
			got = append(got, p[:n]...)
		}
		require.Equal(t, end, err)
		if !bytes.Equal(body, got) {
			t.Fatalf("%d bytes became %d", len(body), len(got))
		}
	})
}

func within(n, low, high int) int { return min(max(n, low), high) }

// piecewise gives at most size bytes at a time, and its end with the last ones
// or after them, by turns.
type piecewise struct {
	left []byte
	size int
	end  error
}

func (r *piecewise) Read(p []byte) (int, error) {
	n := copy(p[:min(len(p), r.size)], r.left)
	r.left = r.left[n:]
	if len(r.left) == 0 && (n == 0 || n%2 == 0) {
		return n, r.end
	}
	return n, nil
}
