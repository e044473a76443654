package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTenths(t *testing.T) {
	for v, want := range map[float64]string{-0.04: "0.0", 0.04: "0.0", -0.06: "-0.1", 10.66: "10.7"} {
		assert.Equal(t, want, tenths(v))
	}
}
