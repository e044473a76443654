package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDidYouMean(t *testing.T) {
	known := []string{"outage", "hot-partition", "retry-layers", "at", "long_poll", "load", "name", "rate"}
	for name, want := range map[string]string{
		"outge": "outage", "Outage": "outage", "outages": "outage", "otuage": "outage", "hot": "hot-partition", "retry_layer": "retry-layers",
		"longPoll": "long_poll", "lod": "load", "nane": "name", "rat": "rate",
		"to": "", "x": "", "": "", "sunshine": "", "ho": "",
	} {
		if want != "" {
			want = "did you mean " + want + "? "
		}
		assert.Equal(t, want, DidYouMean(name, known), name)
	}
	assert.Equal(t, "did you mean calls? ", DidYouMean("call", []string{"callers", "calls"}), "the nearest, not the first")
}
