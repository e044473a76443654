package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Calls that nobody answers pile up, as far as their memory is bounded.
func TestTooManyUnderWay(t *testing.T) {
	s := Scenario{
		Seed: 1, Duration: time.Hour, Load: Load{Rate: 1000, Paced: true},
		Layers: []Layer{{Callers: 1, Deadline: 10 * time.Minute}},
		Faults: []Fault{{Kind: Silent, Length: time.Hour}},
	}
	w, err := newWorld(s, Standard(), Watch{})
	require.NoError(t, err)
	assert.EqualValues(t, mostUnderWay, w.flights.most)
	w.flights.most = 5000
	require.ErrorContains(t, w.run(), "more than 5000 calls, gateways' included, are under way at once after 5.0")
	assert.Equal(t, 5001, w.flights.live)

	w, err = newWorld(s, Standard(), Watch{})
	require.NoError(t, err)
	w.flights.most = 600_000
	require.NoError(t, w.run())
}
