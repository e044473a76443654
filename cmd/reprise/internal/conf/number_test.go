package conf_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/cmd/reprise/internal/conf"
)

// read is what a value is read as, or what is said against it.
func read[T any](format, value string, as func(*conf.Table, string, *T)) string {
	text := map[string]string{"yaml": "v: " + value + "\n", "toml": "v = " + value + "\n"}[format]
	var got T
	kind := conf.Kind{Name: "file", Key: "v", Empty: "v"}
	if err := kind.Parse("f."+format, []byte(text), func(root *conf.Table) { as(root, "v", &got); root.Done() }); err != nil {
		return strings.TrimPrefix(err.Error(), "file f."+format+":1: ")
	}
	return fmt.Sprint(got)
}

// Every way to write a number is read as one or refused with what would be right, in
// both formats; "same" is what TOML makes of it too.
func TestNumbers(t *testing.T) {
	for _, row := range []struct{ value, number, whole, toml string }{
		{"5", "5", "5", "same"},
		{"+5", "5", "5", "same"},
		{"-5", "-5", "-5", "same"},
		{"-0", "0", "0", "same"},
		{"-0.0", "0", "0", "same"},
		{"1_000", "1000", "1000", "same"},
		{"0x10", "16", "16", "same"},
		{"0o10", "8", "8", "same"},
		{"0b11", "3", "3", "same"},
		{"2.5", "2.5", "v is 2.5: want a whole number", "same"},
		{"3.0", "3", "3", "same"},
		{"1e3", "1000", "1000", "same"},
		{"1E+3", "1000", "1000", "same"},
		{"1e12", "1e+12", "1000000000000", "same"},
		{"1.0e12", "1e+12", "1000000000000", "same"},
		{"1e-3", "0.001", "v is the text \"1e-3\": want a whole number", "0.001"},
		{"1.5e3", "1500", "1500", "same"},
		{".5", "0.5", "v is 0.5: want a whole number", "is not TOML: toml: unexpected character U+002E '.' at start of value: want a number such as 0.5"},
		{"5.", "5", "5", "is not TOML: toml: decimal point must be followed by a digit: want a number such as 5"},
		{"1e18", "1e+18", "v is the text \"1e18\": want a whole number, up to 9007199254740992", "1e+18"},
		{"9223372036854775807", "9.223372036854776e+18", "9223372036854775807", "same"},
		{"18446744073709551615", "1.8446744073709552e+19", "v is 18446744073709551615: want a whole number, up to 9223372036854775807", "is not TOML: toml: decimal number is too large to fit in a 64-bit signed integer"},
		{"99999999999999999999", "1e+20", "v is the text \"99999999999999999999\": want a whole number, up to 9007199254740992", "is not TOML: toml: decimal number is too large to fit in a 64-bit signed integer"},
		{"1e400", "v is wrong: 1e400 is beyond all numbers: want a smaller one", "v is wrong: 1e400 is beyond all numbers: want a smaller one", "is not TOML: toml: unable to parse float: strconv.ParseFloat: parsing \"1e400\": value out of range"},
		{".nan", "NaN", "v is NaN: want a whole number", "is not TOML: toml: unexpected character U+002E '.' at start of value"}, // for the field's range to refuse
		{".inf", "+Inf", "v is +Inf: want a whole number", "is not TOML: toml: unexpected character U+002E '.' at start of value"},

		{"010", "v is wrong: 010 begins with 0, which some take for octal: want 10, or 0o10 if it is", "v is wrong: 010 begins with 0, which some take for octal: want 10, or 0o10 if it is", "is not TOML: toml: integers cannot have leading zeroes: 010 begins with 0, which some take for octal: want 10, or 0o10 if it is"},
		{"08", "v is wrong: 08 begins with 0: want 8", "v is wrong: 08 begins with 0: want 8", "is not TOML: toml: integers cannot have leading zeroes: 08 begins with 0: want 8"},
		{"00", "v is wrong: 00: want 0", "v is wrong: 00: want 0", "is not TOML: toml: integers cannot have leading zeroes: 00: want 0"},
		{`"5"`, `v is the text "5": want a number, without quotes: 5`, `v is the text "5": want a whole number, without quotes: 5`, "same"},
		{`'1e3'`, `v is the text "1e3": want a number, such as 1000`, `v is the text "1e3": want a whole number, such as 1000`, "same"},
		{`""`, `v is the text "": want a number`, `v is the text "": want a whole number`, "same"},
		{"5%", `v is the text "5%": want a number, such as 0.05`, `v is the text "5%": want a whole number`, "is not TOML: toml: expected newline but got U+0025 '%': want a number such as 0.05"},
		{"1k", `v is the text "1k": want a number, such as 1000`, `v is the text "1k": want a whole number, such as 1000`, "is not TOML: toml: strings must be quoted: want a number such as 1000"},
		{"1.5M", `v is the text "1.5M": want a number, such as 1500000`, `v is the text "1.5M": want a whole number, such as 1500000`, "is not TOML: toml: strings must be quoted: want a number such as 1500000"},
		{"1,000", `v is the text "1,000": want a number, such as 1000`, `v is the text "1,000": want a whole number, such as 1000`, "is not TOML: toml: expected newline but got U+002C ','"},
		{"NaN", `v is the text "NaN": want a number`, `v is the text "NaN": want a whole number`, `is not TOML: toml: unexpected character U+004E 'N' at start of value: want "NaN", in quotes`},
		{"inf", `v is the text "inf": want a number`, `v is the text "inf": want a whole number`, "+Inf"},
		{"many", `v is the text "many": want a number`, `v is the text "many": want a whole number`, `is not TOML: toml: unexpected character U+006D 'm' at start of value: want "many", in quotes`},
		{"1m30s", `v is the text "1m30s": want a number`, `v is the text "1m30s": want a whole number`, `is not TOML: toml: strings must be quoted: want "1m30s", in quotes`},
		{"true", "v is true: want a number", "v is true: want a whole number", "same"},
		{"[1]", "v is a list: want a number", "v is a list: want a whole number", "same"},
		{"", "v has no value: want one, or the key left out", "v has no value: want one, or the key left out", "is not TOML: toml: unexpected character U+000A at start of value: want a value"},
		{"null", "v has no value: want one, or the key left out", "v has no value: want one, or the key left out", `is not TOML: toml: expected keyword "nan": want "null", in quotes`},
	} {
		assert.Equal(t, row.number, read("yaml", row.value, (*conf.Table).Number), row.value)
		assert.Equal(t, row.whole, read("yaml", row.value, (*conf.Table).Whole), row.value)
		if row.toml != "same" {
			assert.Equal(t, row.toml, read("toml", row.value, (*conf.Table).Number), row.value)
			continue
		}
		assert.Equal(t, row.number, read("toml", row.value, (*conf.Table).Number), row.value)
		assert.Equal(t, row.whole, read("toml", row.value, (*conf.Table).Whole), row.value)
	}
	assert.Equal(t, "1e3", read("yaml", "1e3", (*conf.Table).Text), "where a text is wanted it is one")
	assert.Equal(t, "18446744073709551615", read("yaml", "18446744073709551615", (*conf.Table).Unsigned))
	assert.Equal(t, "v is -1: want a whole number, 0 or more", read("yaml", "-1", (*conf.Table).Unsigned))
	assert.Equal(t, "v is -1: want a whole number, 0 or more", read("toml", "-1", (*conf.Table).Unsigned))
}

func TestDurations(t *testing.T) {
	want := "want a duration such as 250ms, 10s or 1m30s"
	for _, row := range []struct{ value, yaml, toml string }{
		{`"1m30s"`, "1m30s", "same"},
		{`"0"`, "0s", "same"},
		{`"1.5h"`, "1h30m0s", "same"},
		{`" 5s "`, "5s", "same"},
		{"1m30s", "1m30s", `is not TOML: toml: strings must be quoted: want "1m30s", in quotes`},
		{"90", "v is 90: " + want + ", with its unit: 1m30s", "same"},
		{"0", "v is 0: " + want + ", with its unit: 0s", "same"},
		{"2.5", "v is 2.5: " + want + ", with its unit: 2.5s", "same"},
		{"1.0e30", "v is 1e+30: " + want, "same"},
		{`"90"`, `v is wrong: "90": ` + want + ", with its unit: 1m30s", "same"},
		{`"1m 30s"`, `v is wrong: "1m 30s": ` + want + ": 1m30s", "same"},
		{`"2d"`, `v is wrong: "2d": ` + want + ": 48h", "same"},
		{`"1:30"`, `v is wrong: "1:30": ` + want, "same"},
		{`"soon"`, `v is wrong: "soon": ` + want, "same"},
		{`""`, `v is wrong: "": ` + want, "same"},
		{"true", "v is true: " + want, "same"},
		{"", "v has no value: want one, or the key left out", "is not TOML: toml: unexpected character U+000A at start of value: want a value"},
	} {
		assert.Equal(t, row.yaml, read("yaml", row.value, (*conf.Table).Duration), row.value)
		if row.toml == "same" {
			row.toml = row.yaml
		}
		assert.Equal(t, row.toml, read("toml", row.value, (*conf.Table).Duration), row.value)
	}
	assert.Equal(t, (90 * time.Second).String(), read("yaml", "1m30s", (*conf.Table).Duration))
}

// A value in an inline table is told of too.
func TestTOMLInTables(t *testing.T) {
	for text, want := range map[string]string{
		"load = {rate = 5%, paced = true}":   "is not TOML: toml: expected ',' or '}' after inline table key-value: want a number such as 0.05",
		"load = {paced = true, period = 5s}": `want "5s", in quotes`,
		"faults = [{kind = down}]":           `want "down", in quotes`,
		"a = \"x\" y":                        "is not TOML",
	} {
		err := conf.Kind{Name: "file"}.Parse("f.toml", []byte(text), func(*conf.Table) {})
		assert.ErrorContains(t, err, want, text)
	}
}
