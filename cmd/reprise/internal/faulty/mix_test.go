package faulty

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseMix(t *testing.T) {
	for text, want := range map[string]Mix{
		"none":                {},
		" none ":              {},
		"500=2%":              {Status500: 0.02},
		"500=2%, reset=0.005": {Status500: 0.02, Reset: 0.005},
		"throttle=100%":       {Throttle: 1},
		"cut=0.1,slow=0.2,503=0.3,retry-after=0.4": {Cut: 0.1, Slow: 0.2, Status503: 0.3, RetryAfter: 0.4},
	} {
		got, err := ParseMix(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		again, err := ParseMix(got.String())
		require.NoError(t, err, text)
		assert.InDeltaSlice(t, got[:], again[:], 1e-6, "what String says is read back: %s", got)
	}
	_, err := ParseMix(DefaultMix)
	require.NoError(t, err)
}

func TestParseMixErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                  `"" is not KIND=SHARE`,
		"500":               `"500" is not KIND=SHARE`,
		"500=2%,":           `"" is not KIND=SHARE`,
		"501=2%":            `unknown fault "501": want one of 500, 503, throttle`,
		"ok=2%":             `unknown fault "ok"`,
		"500=x":             `fault 500: share "x" is not from 0% to 100%`,
		"500=":              `fault 500: share "" is not`,
		"500=-1%":           `share "-1%" is not`,
		"500=101%":          `share "101%" is not`,
		"500=2":             `share "2" is not`,
		"500=NaN":           `share "NaN" is not`,
		"500=Inf%":          `share "Inf%" is not`,
		"500=1%,500=1%":     `fault 500 is given twice`,
		"500=60%,reset=50%": `add up to 110%: at most 100%`,
	} {
		_, err := ParseMix(text)
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), want, text)
		assert.NotContains(t, err.Error(), "\n", text)
	}
}

func TestPickFollowsTheShares(t *testing.T) {
	m := Mix{Status500: 0.25, Reset: 0.5}
	assert.Equal(t, Status500, m.pick(0))
	assert.Equal(t, Status500, m.pick(0.2499))
	assert.Equal(t, Reset, m.pick(0.25))
	assert.Equal(t, Reset, m.pick(0.7499))
	assert.Equal(t, OK, m.pick(0.75))
	assert.Equal(t, OK, Mix{}.pick(0))
	// Tenths do not add up to one in binary; a draw next to one still fails.
	tenths := Mix{Status500: 0.1, Status503: 0.2, Throttle: 0.3, Reset: 0.4}
	assert.Equal(t, Reset, tenths.pick(0.99999999999999989))
}

func TestOutageKeepsTheProportions(t *testing.T) {
	m := Mix{Status500: 0.03, Throttle: 0.01, Slow: 0.5}
	assert.Equal(t, m, m.at(0))
	assert.InDeltaMapValues(t, map[Kind]float64{Status500: 0.75, Throttle: 0.25, Slow: 0}, kindsOf(m.at(1)), 1e-12)
	assert.InDeltaMapValues(t, map[Kind]float64{Status500: 0.39, Throttle: 0.13, Slow: 0.25}, kindsOf(m.at(0.5)), 1e-12)
	assert.Equal(t, Mix{Status503: 1}, Mix{Slow: 1}.at(1), "an outage fails even if nothing else does")
}

func kindsOf(m Mix) map[Kind]float64 {
	return map[Kind]float64{Status500: m[Status500], Throttle: m[Throttle], Slow: m[Slow]}
}

func TestOutagePhases(t *testing.T) {
	o, err := ParseOutage("20%+30%+40%")
	require.NoError(t, err)
	for _, row := range []struct {
		progress  float64
		phase     Phase
		intensity float64
	}{
		{0, Before, 0}, {0.199, Before, 0}, {0.2, During, 1}, {0.499, During, 1},
		{0.5, Recovering, 1}, {0.7, Recovering, 0.5}, {0.91, After, 0}, {1, After, 0},
	} {
		phase, intensity := o.At(row.progress)
		assert.Equal(t, row.phase, phase, row.progress)
		assert.InDelta(t, row.intensity, intensity, 1e-9, row.progress)
	}
	phase, intensity := Outage{}.At(0.5)
	assert.Equal(t, Before, phase)
	assert.Zero(t, intensity)
}

func TestParseOutage(t *testing.T) {
	for text, want := range map[string]Outage{
		"none":        {},
		"30%+20%":     {0.3, 0.2, 0},
		"0+1":         {0, 1, 0},
		"30%+25%+20%": {0.3, 0.25, 0.2},
	} {
		got, err := ParseOutage(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
		again, err := ParseOutage(got.String())
		require.NoError(t, err, text)
		assert.Equal(t, got, again)
	}
	for text, want := range map[string]string{
		"":             "is not START+LENGTH",
		"30%":          "is not START+LENGTH",
		"1%+1%+1%+1%":  "is not START+LENGTH",
		"a+b":          `share "a" is not`,
		"60%+30%+20%":  "add up to 110% of the run",
		"30%+-20%+10%": `share "-20%" is not`,
	} {
		_, err := ParseOutage(text)
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), want, text)
		assert.False(t, strings.Contains(err.Error(), "\n"), text)
	}
}
