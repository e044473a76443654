package fasthttpretry

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/valyala/fasthttp"
)

// FuzzDropHopByHop takes away what Connection names, in any spelling, and what
// is always for one hop, and nothing else.
func FuzzDropHopByHop(f *testing.F) {
	f.Add("close", "X-Kept", false)
	f.Add("x-secret, Keep-Alive,,", "X-SECRET", true)
	f.Add(" X-Kept ,te", "x-kept", false)
	f.Fuzz(func(t *testing.T, list, name string, asWritten bool) {
		if strings.ContainsAny(list+name, "\r\n\x00:") || strings.TrimSpace(name) != name || name == "" {
			return // no header has such a name, or value
		}
		var h fasthttp.ResponseHeader
		if asWritten {
			h.DisableNormalizing()
		}
		h.Add("Connection", list)
		h.Add(name, "1")
		h.Add("X-Other", "2")
		gone := slices.Clone(hopByHop)
		for word := range strings.SplitSeq(list, ",") {
			gone = append(gone, strings.TrimSpace(word))
		}
		is := func(key string) func(string) bool {
			return func(word string) bool { return strings.EqualFold(word, key) && len(word) == len(key) }
		}
		dropHopByHop(&h)
		for key := range h.All() {
			assert.False(t, slices.ContainsFunc(gone, is(string(key))), "%q is left of %q", key, list)
		}
		if !slices.ContainsFunc(gone, is("X-Other")) {
			assert.NotEmpty(t, h.Peek("X-Other"))
		}
	})
}
