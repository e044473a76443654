package storm

import (
	"image/color"
	"strconv"

	"gonum.org/v1/plot/vg"

	"github.com/reprise-go/reprise/cmd/reprise/internal/figure"
)

// looks are how the policies' lines look, the same in every chart. The colours
// differ in lightness too; dashes and numbers do for paper without colour.
var looks = map[string]figure.Style{
	"none":       {Color: rgb(0x6b7480), Width: 1.6, Dashes: []vg.Length{2, 3}},
	"naive":      {Color: rgb(0xc2281d), Width: 2},
	"legacy":     {Color: rgb(0x8a5a3c), Width: 1.6, Dashes: []vg.Length{9, 4}},
	"envoy":      {Color: rgb(0xd98a00), Width: 1.8, Dashes: []vg.Length{6, 3}},
	"linkerd":    {Color: rgb(0xb03a8c), Width: 1.6, Dashes: []vg.Length{8, 3, 2, 3}},
	"standard":   {Color: rgb(0x0b3d91), Width: 2.4},
	"pacing":     {Color: rgb(0x4a9be0), Width: 1.8, Dashes: []vg.Length{5, 3}},
	"dynamodb":   {Color: rgb(0x6a4bb5), Width: 1.6, Dashes: []vg.Length{3, 2}},
	"adaptive":   {Color: rgb(0x0f7a58), Width: 2},
	"coalescing": {Color: rgb(0x5fae35), Width: 1.8, Dashes: []vg.Length{10, 3}},
	OwnName:      {Color: rgb(0x111111), Width: 2.4, Dashes: []vg.Length{12, 2}},
}

// look is that of a policy; one that is not known is drawn as the own one is.
func look(policy string) figure.Style {
	if l, ok := looks[policy]; ok {
		return l
	}
	return looks[OwnName]
}

// mark is what the badges of the nth policy of a page say, from 0.
func mark(n int) string { return strconv.Itoa(n + 1) }

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

// policyWords say what the policies are.
var policyWords = map[string]string{
	"none":       "one attempt, never a retry",
	"naive":      "3 attempts, 100 ms apart, no quota: the loop that everybody writes first",
	"legacy":     "5 attempts, long backoff, no quota",
	"envoy":      "3 attempts; retries under way up to 20 % of the calls under way, at least 3, for each client",
	"linkerd":    "3 attempts; retries up to 20 % of the calls of the last 10 s, and 10 a second, for each client",
	"standard":   "3 attempts, backoff by class, a retry quota for each client",
	"pacing":     "standard; a call whose retry the quota refuses waits before it fails",
	"dynamodb":   "standard with that service's 4 attempts and shorter backoff",
	"adaptive":   "standard behind a limiter that follows the throttles",
	"coalescing": "adaptive; a burst of throttles cuts the rate once",
	OwnName:      "your own numbers",
}
