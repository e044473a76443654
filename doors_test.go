package reprise_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	code    = regexp.MustCompile("`([^`]+)`")
	example = regexp.MustCompile(`\]\(examples/([a-z]+)/`)
	space   = regexp.MustCompile(`\s+`)
)

// Who picks a door in the README finds its two lines in a program that compiles and is tested, and a command that runs it.
func TestDoors(t *testing.T) {
	readme := read(t, "README.md")
	for _, fault := range doorFaults(t, section(readme, "Pick your door")) {
		t.Error(fault)
	}
	for _, dir := range exampleFolders(t) {
		if programs, err := filepath.Glob("examples/" + dir + "/*.go"); assert.NoError(t, err) && len(programs) > 0 {
			assert.FileExists(t, "examples/"+dir+"/main_test.go", "an example without a test stops working unseen")
		}
	}
}

// section is what stands under a heading of the second level.
func section(text, heading string) string {
	_, text, _ = strings.Cut(text, "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

func exampleFolders(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir("examples")
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.NotEmpty(t, names)
	return names
}

// doorFaults reads the table of three columns: what somebody has, the lines to add, and the program that has them.
func doorFaults(t *testing.T, text string) (faults []string) {
	t.Helper()
	fault := func(parts ...string) { faults = append(faults, strings.Join(parts, " ")) }
	var dir string
	var shown []string
	for row := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		if len(cells) != 3 || !strings.Contains(cells[1], "`") {
			continue // prose, a head, the table of two columns
		}
		door, see := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[2])
		if link := example.FindStringSubmatch(see); link != nil {
			dir = link[1]
			shown = append(shown, dir)
			if command := code.FindStringSubmatch(see); command == nil || !slices.Contains(commands(t, dir), command[1]) {
				fault(door+": no command that runs examples/"+dir+": want one of", strings.Join(commands(t, dir), ", "))
			}
		} else if see != "the same" {
			fault(door + ": no program of examples")
			continue
		}
		lines := code.FindAllStringSubmatch(cells[1], -1)
		if len(lines) != 2 {
			fault(door + ": want two lines")
		}
		for _, line := range lines {
			if !strings.Contains(statements(t, dir), line[1]) {
				fault(door+": examples/"+dir, "has no", line[1])
			}
		}
	}
	for _, dir := range exampleFolders(t) {
		if !slices.Contains(shown, dir) {
			fault("examples/" + dir + " is at no door")
		}
	}
	return faults
}

// commands are those that run an example: what needs no module of its own is run from the root, and the Makefile may name the run of one that does.
func commands(t *testing.T, dir string) []string {
	t.Helper()
	if _, err := os.Stat("examples/" + dir + "/main.go"); err != nil {
		return []string{"make test-" + dir} // TestReferences holds it to the Makefile's targets
	}
	if _, err := os.Stat("examples/" + dir + "/go.mod"); err != nil {
		return []string{"go run ./examples/" + dir}
	}
	run := "go run -C examples/" + dir + " ."
	if target := regexp.MustCompile(`(?m)^([a-z-]+):.*\n\t` + regexp.QuoteMeta(run)).FindStringSubmatch(read(t, "Makefile")); target != nil {
		return []string{run, "make " + target[1]}
	}
	return []string{run}
}

// statements is what an example's program does, without its tests and the lines of comment, and with one blank for any space.
func statements(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	for _, name := range files(t, func(name string) bool {
		return path.Dir(name) == "examples/"+dir && (strings.HasSuffix(name, ".go") || path.Base(name) == "Caddyfile") && !strings.HasSuffix(name, "_test.go")
	}) {
		for line := range strings.Lines(read(t, name)) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "#") {
				text.WriteString(line + " ")
			}
		}
	}
	return space.ReplaceAllString(text.String(), " ")
}

func TestDoorsBreak(t *testing.T) {
	good := section(read(t, "README.md"), "Pick your door")
	for edit, want := range map[[2]string]string{
		{"client := httpretry.Client(e)", "client := httpretry.Client(f)"}:         "an `http.Client`: examples/client has no client := httpretry.Client(f)",
		{"<br>`client := httpretry.Client(e)`", ""}:                                "an `http.Client`: want two lines",
		{"go run ./examples/client", "go run -C examples/client ."}:                "no command that runs examples/client: want one of go run ./examples/client",
		{"go run -C examples/grpc .", "make dynamo"}:                               "no command that runs examples/grpc: want one of go run -C examples/grpc .",
		{"make dynamo", "go run -C examples/dynamo ."}:                             "want one of go run -C examples/dynamodb ., make dynamo",
		{"examples/eventloop/", "examples/loop/"}:                                  "examples/eventloop is at no door",
		{"[client](examples/client/main.go):<br>`go run ./examples/client`", "no"}: "an `http.Client`: no program of examples",
		{"err := engine.New()`", "err := engine.New() // These are the two`"}:      "has no e, err := engine.New() // These",
	} {
		require.Contains(t, good, edit[0])
		assert.Contains(t, strings.Join(doorFaults(t, strings.ReplaceAll(good, edit[0], edit[1])), "\n"), want)
	}
	assert.Len(t, doorFaults(t, section("# A\n\n## Pick your door\n\ntext\n\n## B\n", "Pick your door")), len(exampleFolders(t)))
}
