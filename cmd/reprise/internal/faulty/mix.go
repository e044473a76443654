package faulty

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Mix holds the share of requests, from 0 to 1, that meet each kind of fault.
// What the shares leave over is answered [OK]; the entry of OK itself is not
// used. The zero Mix never fails.
type Mix [kinds]float64

// DefaultMix is 5.8 % of faults, well under the rate at which the retry quota
// of a standard engine drains (R6.5).
const DefaultMix = "500=1.5%,503=1.5%,throttle=1%,retry-after=0.5%,reset=0.5%,cut=0.5%,slow=0.3%"

// ParseMix reads "500=2%,reset=0.5%": kinds that are not named get no share.
// A share is a percentage or a fraction ("0.02"); together they are at most
// 100 %. "none" is the empty mix.
func ParseMix(text string) (Mix, error) {
	var m Mix
	if strings.TrimSpace(text) == "none" {
		return m, nil
	}
	var sum float64
	var seen [kinds]bool
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(part), "=")
		if !found {
			return Mix{}, fmt.Errorf("%q is not KIND=SHARE, such as 500=2%%", strings.TrimSpace(part))
		}
		kind, ok := faultByName(strings.TrimSpace(name))
		if !ok {
			return Mix{}, fmt.Errorf("unknown fault %q: want one of %s", name, strings.Join(kindNames[1:], ", "))
		}
		if seen[kind] {
			return Mix{}, fmt.Errorf("fault %s is given twice", kind)
		}
		seen[kind] = true
		share, err := ParseShare(value)
		if err != nil {
			return Mix{}, fmt.Errorf("fault %s: %w", kind, err)
		}
		m[kind] = share
		sum += share
	}
	if sum > 1+1e-9 {
		return Mix{}, fmt.Errorf("shares of faults add up to %s: at most 100%%", percent(sum))
	}
	return m, nil
}

// ParseShare reads "2%" or "0.02": a number from 0 to 100 % (0 to 1).
func ParseShare(text string) (float64, error) {
	digits, isPercent := strings.CutSuffix(strings.TrimSpace(text), "%")
	share, err := strconv.ParseFloat(digits, 64)
	if isPercent {
		share /= 100
	}
	if err != nil || math.IsNaN(share) || share < 0 || share > 1 {
		return 0, fmt.Errorf("share %q is not from 0%% to 100%% (or 0 to 1)", strings.TrimSpace(text))
	}
	return share, nil
}

// String is m as [ParseMix] reads it.
func (m Mix) String() string {
	var parts []string
	for _, k := range Kinds()[1:] {
		if m[k] > 0 {
			parts = append(parts, k.String()+"="+percent(m[k]))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ",")
}

// at is the mix in force while the outage has the given intensity: 0 leaves m
// as it is, 1 makes every request fail, in m's own proportions.
func (m Mix) at(intensity float64) Mix {
	if intensity <= 0 {
		return m
	}
	out := m.failing()
	for i := range m {
		out[i] = intensity*out[i] + (1-intensity)*m[i]
	}
	return out
}

// failing is m with its failures scaled to 100 %; a mix without failures
// becomes 503s alone, since an outage has to fail somehow.
func (m Mix) failing() Mix {
	var sum float64
	for i, share := range m {
		if Kind(i).fails() {
			sum += share
		}
	}
	if sum == 0 {
		return Mix{Status503: 1}
	}
	var out Mix
	for i, share := range m {
		if Kind(i).fails() {
			out[i] = share / sum
		}
	}
	return out
}

// pick is the kind that the draw u, in [0, 1), falls on.
func (m Mix) pick(u float64) Kind {
	last := OK
	var sum float64
	for i := 1; i < kinds; i++ {
		if m[i] <= 0 {
			continue
		}
		last = Kind(i)
		if sum += m[i]; u < sum {
			return last
		}
	}
	// A full mix may add up to a hair under 1: no draw may slip through it.
	if sum > 1-1e-9 {
		return last
	}
	return OK
}

func faultByName(name string) (Kind, bool) {
	for _, k := range Kinds()[1:] {
		if k.String() == name {
			return k, true
		}
	}
	return OK, false
}

func percent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1e6)/1e4, 'f', -1, 64) + "%"
}
