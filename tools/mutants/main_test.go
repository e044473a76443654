package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// orchard is a module with one function, its test, and a list of faults.
func orchard(t *testing.T, list string) (root, name string) {
	t.Helper()
	root = t.TempDir()
	for file, text := range map[string]string{
		"go.mod":      "module orchard\n\ngo 1.26\n",
		"a/a.go":      "package a\n\nfunc Less(x, y int) bool { return x < y }\n\nfunc Unused() int { return 1 }\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestLess(t *testing.T) {\n\tif Less(1, 1) {\n\t\tt.Fatal(\"1 < 1\")\n\t}\n}\n",
		"mutants.txt": list,
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root, filepath.Join(root, "mutants.txt")
}

func TestVerdicts(t *testing.T) {
	root, name := orchard(t, `# three fates
[boundary]
file a/a.go
why  equal is not less
- x < y
+ x <= y

[unseen]
file a/a.go
why  nobody asks
- return 1
+ return 2

[nonsense]
file a/a.go
why  this is no Go
- return 1
+ return one

[endless]
file a/a.go
test ./a
why  it never comes back
- func Less(x, y int) bool { return x < y }
+ func Less(x, y int) bool {
+ 	for {
+ 	}
+ }
`)
	all, err := readList(name)
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	f := field{root: root, timeout: 2 * time.Second}
	if err := f.sound(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for i, want := range []result{{Verdict: caught, By: "TestLess"}, {Verdict: survived}, {Verdict: broken}, {Verdict: caught, By: "panic: test timed out after 2s"}} {
		got, err := f.plant(t.Context(), all[i])
		if err != nil {
			t.Fatal(err)
		}
		if got.Verdict != want.Verdict || !strings.HasPrefix(got.By, want.By) {
			t.Errorf("[%s]: %+v, want %+v", all[i].Name, got, want)
		}
	}
	if data, err := os.ReadFile(filepath.Join(root, "a/a.go")); err != nil || !strings.Contains(string(data), "x < y") {
		t.Errorf("the file itself was changed: %s %v", data, err)
	}
}

// An entry that the code has left behind is an error, and no test is run.
func TestStale(t *testing.T) {
	for text, want := range map[string]string{"x > y": "0 times", "x": "2 times"} {
		root, name := orchard(t, "[one]\nfile a/a.go\nwhy  w\n- "+text+"\n+ z\n")
		err := run(t.Context(), root, name, "", false, false, time.Minute)
		if err == nil || !strings.Contains(err.Error(), "is stale") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want stale, %s", text, err, want)
		}
	}
}

func TestBadLists(t *testing.T) {
	for list, want := range map[string]string{
		"file a.go\n":                       "before the first",
		"[a]\nfile a.go\n- x\n+ y\n":        "want a file, a why",
		"[a]\nfile a.go\nwhy w\n- x\n+ x\n": "differs from its replacement",
		"[a]\nwhat a.go\n":                  "want file, test, why",
		"[a]\n[a]\n":                        "twice",
	} {
		_, name := orchard(t, list)
		if _, err := readList(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", list, err, want)
		}
	}
}

// The list of this project still fits its code.
func TestListIsFresh(t *testing.T) {
	all, err := readList("mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 30 {
		t.Errorf("%d faults, want 30 or more", len(all))
	}
	if err := (field{root: "../.."}).stale(all); err != nil {
		t.Error(err)
	}
}
