package conf

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// scalar is a value of YAML as it stands in the file, without quotes. Its library
// takes numbers such as 1e12 for text and 010 for an octal one.
type scalar struct {
	text  string
	plain bool // there is one
}

func (t *Table) scalar(key string) scalar {
	text, plain := t.r.scalars[join(t.path, key)]
	return scalar{text, plain}
}

// unlike is ErrKind with what would be right.
type unlike struct{ instead string }

func (*unlike) Error() string        { return ErrKind.Error() }
func (*unlike) Is(target error) bool { return target == ErrKind }

// exponent is a number that YAML 1.2 and TOML know and YAML 1.1 does not: one with an
// exponent and without a point, or one that is too long for 64 bits.
var exponent = regexp.MustCompile(`^[-+]?[0-9]+([eE][-+]?[0-9]+)?$`)

// octal is a number that some take for an octal one and others for a decimal.
var octal = regexp.MustCompile(`^[-+]?0[0-9_]+$`)

// asNumber reads a number, whole or not.
func asNumber(v any, as scalar) (float64, error) {
	switch v := v.(type) {
	case float64:
		return v + 0, nil // -0 is 0
	case string:
		if err := ambiguous(as); err != nil {
			return 0, err
		}
		if !as.plain || !exponent.MatchString(v) {
			return 0, unlikeNumber(v, as.plain)
		}
		n, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return 0, errors.New(v + " is beyond all numbers: want a smaller one")
		}
		return n, nil
	}
	if n, ok := v.(uint64); ok {
		return float64(n), nil
	}
	n, err := AsWhole(v)
	return float64(n), err
}

// mostWhole is what an int and a float64 both hold: beyond 2^53 not all whole
// numbers are there.
const mostWhole = min(1<<53, math.MaxInt)

// asWhole reads a whole number, however it is written.
func asWhole(v any, as scalar) (int, error) {
	if n, err := AsWhole(v); err == nil {
		return n, nil
	}
	if _, ok := v.(uint64); ok {
		return 0, &unlike{", up to " + strconv.Itoa(math.MaxInt)}
	}
	n, err := asNumber(v, as)
	switch {
	case errors.Is(err, ErrKind) && strings.Contains(insteadOf(fmt.Sprint(v)), "."):
		return 0, ErrKind // what would be right for a number is not for a whole one
	case err != nil:
		return 0, err
	case n != math.Trunc(n) || math.IsInf(n, 0): // which NaN is too
		return 0, ErrKind
	case math.Abs(n) > mostWhole:
		return 0, &unlike{", up to " + strconv.Itoa(mostWhole)}
	}
	return int(n), nil
}

func ambiguous(as scalar) error {
	if !octal.MatchString(as.text) {
		return nil
	}
	digits := strings.TrimLeft(strings.TrimLeft(as.text, "+-"), "0_")
	if digits == "" {
		return errors.New(as.text + ": want 0")
	}
	if strings.ContainsAny(digits, "89") {
		return errors.New(as.text + " begins with 0: want " + digits)
	}
	return errors.New(as.text + " begins with 0, which some take for octal: want " + digits + ", or 0o" + digits + " if it is")
}

// unlikeNumber is the error of a text in a number's place.
func unlikeNumber(text string, plain bool) error {
	number := insteadOf(text)
	switch {
	case number == "":
		return ErrKind
	case !plain && number == strings.TrimSpace(text):
		return &unlike{", without quotes: " + number}
	}
	return &unlike{", such as " + number}
}

// decimal is a number as people write it.
var decimal = regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

// suffixes are what people put behind numbers.
var suffixes = []struct {
	text  string
	times float64
}{{"%", 0.01}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}}

// insteadOf is a number as both formats know it, in place of what somebody wrote; ""
// if that means no number.
func insteadOf(text string) string {
	text = strings.NewReplacer(",", "", " ", "", "_", "", "'", "").Replace(text)
	times := 1.
	for _, suffix := range suffixes {
		if number, ok := strings.CutSuffix(text, suffix.text); ok {
			text, times = number, suffix.times
			break
		}
	}
	if !decimal.MatchString(text) {
		return ""
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return ""
	}
	if times == 1 && strings.Trim(text, "0123456789") == "" && !octal.MatchString(text) {
		return text // every digit of it
	}
	return strconv.FormatFloat(math.Round(n*times*1e12)/1e12, 'f', -1, 64)
}

// unlikeDuration is the error of a number in a duration's place.
func unlikeDuration(v any) error {
	if n, err := asNumber(v, scalar{}); err == nil && math.Abs(n) <= maxSeconds {
		return &unlike{", with its unit: " + (time.Duration(n * float64(time.Second))).String()}
	}
	return ErrKind
}

// maxSeconds is about as long as a duration may be.
const maxSeconds = 9e9

var days = regexp.MustCompile(`^([0-9]{1,5})d$`)

// durationInstead is a duration in place of a text that is none, after a colon; "" if
// that means none.
func durationInstead(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), " ", "")
	if d, err := time.ParseDuration(text); err == nil {
		return ": " + d.String()
	}
	if m := days.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // it is all digits
		return ": " + strconv.Itoa(24*n) + "h"
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && decimal.MatchString(text) && math.Abs(n) <= maxSeconds {
		return ", with its unit: " + (time.Duration(n * float64(time.Second))).String()
	}
	return ""
}

// Unsigned reads a whole number of 64 bits without sign; TOML has those of 63.
func (t *Table) Unsigned(key string, to *uint64) {
	as := t.scalar(key)
	Read(t, key, "a whole number", to, func(v any) (uint64, error) {
		if n, ok := v.(uint64); ok {
			return n, nil
		}
		n, err := asWhole(v, as)
		if err == nil && n < 0 {
			return 0, &unlike{", 0 or more"}
		}
		return uint64(n), err
	})
}
