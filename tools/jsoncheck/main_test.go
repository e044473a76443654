package main

import (
	"strings"
	"testing"
)

func TestClaims(t *testing.T) {
	const doc = `{"calls": 3000, "quota": {"lowest": 4}, "name": "x"}`
	rows := []struct{ claims, err string }{
		{"calls=3000 quota.lowest<500 calls>quota.lowest", ""},
		{"calls=2999", "calls=2999 does not hold: 3000, 2999"},
		{"calls<3000 calls>3000", "calls>3000 does not hold"},
		{"quota.lowest>4", "does not hold"},
		{"attempts=0", `"attempts" leads to no number`},
		{"calls.deep=0", `"calls.deep" leads to no number`},
		{"name=0", `"name" leads to no number, but to x`},
		{"calls", "none of = < >"},
	}
	for _, row := range rows {
		err := check([]byte(doc), strings.Fields(row.claims))
		switch {
		case row.err == "" && err != nil:
			t.Errorf("%s: %v", row.claims, err)
		case row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)):
			t.Errorf("%s: got %v, want %q", row.claims, err, row.err)
		}
	}
	for _, bad := range []string{"", "{", doc + doc} {
		if check([]byte(bad), nil) == nil {
			t.Errorf("%q passed for one JSON document", bad)
		}
	}
}
