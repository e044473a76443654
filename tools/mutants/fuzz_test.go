package main

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzReadList reads any list: a fault that is taken says all that is needed.
func FuzzReadList(f *testing.F) {
	f.Add([]byte("# a list\n[a]\nfile x/y.go\nwhy  z\n- a\n+ b\n"))
	f.Add([]byte("[a]\n[a]\n"))
	f.Add([]byte("- a\n"))
	f.Add([]byte("[a]\nfile y.go\ntest ./x ./z\nwhy w\n-  a\n- \n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := readList(name)
		if err != nil {
			return
		}
		for _, m := range all {
			if m.File == "" || m.Why == "" || m.Original == "" || m.Original == m.Replacement || len(m.Packages) == 0 {
				t.Fatalf("%+v was taken", m)
			}
		}
	})
}
