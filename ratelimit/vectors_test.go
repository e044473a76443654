package ratelimit_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/ratelimit"
)

const vectors = "../testdata/vectors/"

func readVector(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(vectors + name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, into))
}

// epoch is a whole Unix second, so that buckets and virtual times coincide.
var epoch = time.Unix(1_800_000_000, 0)

// The published end-to-end table (R8.2): rates after each response, and no wait,
// since attempts come slower than the lowest rate allows.
func TestVectorAdaptive(t *testing.T) {
	var file struct {
		Cases []struct {
			Name  string
			Calls []struct {
				Steps []struct {
					AtMs   float64 `json:"at_ms"`
					Status int
					Code   string
					Expect struct {
						Fill     float64 `json:"fill_rate"`
						Measured float64 `json:"measured_tx_rate"`
					}
				}
			}
		}
	}
	readVector(t, "adaptive.json", &file)
	require.NotEmpty(t, file.Cases)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			l := ratelimit.New(epoch)
			for _, call := range c.Calls {
				for _, step := range call.Steps {
					now := epoch.Add(time.Duration(step.AtMs * float64(time.Millisecond)))
					l.UpdateAt(now, step.Status == 400)
					got := l.SnapshotAt(now)
					assert.InEpsilon(t, step.Expect.Fill, got.FillRate, 1e-9, "fill at %v ms", step.AtMs)
					assert.InDelta(t, step.Expect.Measured, got.MeasuredRate, 1e-9*step.Expect.Measured, "measured at %v ms", step.AtMs)
				}
			}
		})
	}
}

// The published curve (R8.2), last max and last throttle set by hand.
func TestVectorCubic(t *testing.T) {
	type table struct {
		LastMax      float64 `json:"last_max_rate"`
		LastThrottle float64 `json:"last_throttle_time"`
		Steps        []struct {
			T          float64
			Throttled  bool
			Calculated float64 `json:"calculated_rate"`
		}
	}
	var file map[string]json.RawMessage
	readVector(t, "cubic.json", &file)
	for _, name := range []string{"cubic_success", "cubic_mixed"} {
		t.Run(name, func(t *testing.T) {
			var want table
			require.NoError(t, json.Unmarshal(file[name], &want))
			curve := ratelimit.NewCurve(want.LastMax, want.LastThrottle)
			for _, step := range want.Steps {
				assert.InEpsilon(t, step.Calculated, curve.At(step.T, step.Throttled), 1e-9, "t=%v", step.T)
			}
		})
	}
}
