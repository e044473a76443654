package main

import "testing"

// FuzzCheck reads any document and claim: no two claims that exclude each other hold.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"calls": 3000, "quota": {"lowest": 4}}`), "quota.lowest", "14")
	f.Add([]byte(`[1]`), "a..b", "1e999")
	f.Add([]byte(`{"": 1}`), "", "")
	f.Fuzz(func(t *testing.T, data []byte, left, right string) {
		held := 0
		for _, sign := range []string{"=", "<", ">"} {
			if check(data, []string{left + sign + right}) == nil {
				held++
			}
		}
		if held > 1 {
			t.Fatalf("%d of %q = < > %q hold", held, left, right)
		}
	})
}
