package faulty

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A mix that is read has shares from 0 to 1 that together leave something for the
// answers that are right, and is what its text says.
func FuzzParseMix(f *testing.F) {
	for _, text := range []string{DefaultMix, "none", "", "500=100%", "500=2%,reset=0.005", "500=NaN", "500=-1%", "500=1e309", "500=60%,503=60%", " 500 = 0x1p-2 ,reset=+Inf%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMix(text)
		if err != nil {
			assert.Equal(t, Mix{}, m)
			return
		}
		var sum float64
		for _, share := range m {
			require.True(t, share >= 0 && share <= 1, "%q: %v", text, m)
			sum += share
		}
		assert.LessOrEqual(t, sum, 1+1e-9)
	})
}

// An outage that is read lies within the run, and is read again from what it is
// written as.
func FuzzParseOutage(f *testing.F) {
	for _, text := range []string{"none", "30%+25%+20%", "0.3+0.2", "0+0", "1e-9+1", "NaN+1%", "-0+1", "50%+50%+1%", "++", "1%+2%+3%+4%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOutage(text)
		if err != nil {
			assert.Equal(t, Outage{}, o)
			return
		}
		for _, progress := range []float64{0, o.Start, o.Start + o.Length, o.Start + o.Length + o.Recovery, 0.5, 1} {
			_, force := o.At(progress)
			require.True(t, force >= 0 && force <= 1, "%q at %v: %v", text, progress, force)
		}
		again, err := ParseOutage(o.String())
		require.NoError(t, err, "%q is written %q", text, o)
		assert.InDelta(t, o.Start, again.Start, 1e-2)
		assert.InDelta(t, o.Length, again.Length, 1e-2)
	})
}
