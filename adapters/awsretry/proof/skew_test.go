package proof_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry/proof/faulty"
)

// A client that has learned how far its clock is off signs its next call by the
// service's, from the first attempt on, and unlearns it when the clocks agree
// again (R3.10).
func TestSkewIsRemembered(t *testing.T) {
	for _, kind := range clientKinds {
		t.Run(kind.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				options := kind.make(t, 0)
				options.keep = keepResults(nil)
				client := options.dynamo(w)
				late, early := 10*time.Minute, -time.Hour
				w.proxy.Script(
					faulty.Skewed(late, skewed), faulty.Skewed(late, faulty.Pass), // first call
					faulty.Skewed(late, faulty.Pass),                                // second
					faulty.Skewed(early, skewed), faulty.Skewed(early, faulty.Pass), // third
					faulty.Pass, // fourth
					faulty.Pass, // fifth
				)
				for range 5 {
					_, err := get(t.Context(), client)
					require.NoError(t, err)
				}
				var signed []time.Duration
				for _, r := range w.proxy.Seen() {
					signed = append(signed, r.Signed.Sub(r.At).Round(time.Minute))
				}
				assert.Equal(t, []time.Duration{0, late, late, late, early, early, 0}, signed)
			})
		})
	}
}
