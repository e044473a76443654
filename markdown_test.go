package reprise_test

import (
	"go/doc"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	fence  = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inline = regexp.MustCompile("`make ([a-z-]+)")
	typed  = regexp.MustCompile(`(?m)^\$? *make ([a-z-]+)`)
	target = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

func markdown(t *testing.T) []string {
	t.Helper()
	return files(t, func(name string) bool { return strings.HasSuffix(name, ".md") })
}

// programs are the complete Go programs that a document shows.
func programs(text string) (found []string) {
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		if block[1] == "go" && strings.HasPrefix(block[2], "package main") {
			found = append(found, block[2])
		}
	}
	return found
}

// The first program that a newcomer copies must compile as it stands, in a module of their own, and print what it says.
func TestPrograms(t *testing.T) {
	assert.NotEmpty(t, programs(read(t, "README.md")), "README.md shows no program")
	for _, name := range markdown(t) {
		for _, program := range programs(read(t, name)) {
			for _, fault := range programFaults(t, home(name), program) {
				t.Errorf("%s: its program: %s", name, fault)
			}
		}
	}
}

// home is the folder of the module that a file is in.
func home(name string) string {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return "."
}

// programFaults formats, compiles and vets a program that imports a module of this checkout, by its folder. If its main ends in an "Output:" comment
// as examples do, the program is run and must print that.
func programFaults(t *testing.T, home, program string) (faults []string) {
	t.Helper()
	checkout, err := filepath.Abs(".")
	require.NoError(t, err)
	dir := t.TempDir()
	needs := "require " + module + " v0.0.0\n\nreplace " + module + " => " + checkout + "\n"
	if own := module + "/" + filepath.ToSlash(home); home != "." {
		needs += "\nrequire " + own + " v0.0.0\n\nreplace " + own + " => " + filepath.Join(checkout, home) + "\n"
	}
	for name, text := range map[string]string{
		"main.go": program,
		"go.mod":  "module example\n\ngo 1.26\n\n" + needs,
		"go.sum":  read(t, filepath.Join(home, "go.sum")),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	run := func(args ...string) string {
		command := exec.Command("go", args...)
		command.Dir = dir
		out, err := command.CombinedOutput()
		if err != nil {
			faults = append(faults, err.Error()+": "+string(out))
		}
		return string(out)
	}
	if formatted, err := format.Source([]byte(program)); err != nil || string(formatted) != program {
		faults = append(faults, "is not gofmt-clean")
	}
	if run("vet", "-mod=mod", "."); faults != nil {
		return faults
	}
	asExample := parse(t, "main.go", strings.Replace(program, "func main()", "func Example()", 1))
	for _, example := range doc.Examples(asExample.ast) {
		if !example.EmptyOutput && example.Output == "" {
			continue
		}
		if printed := run("run", "-mod=mod", "."); strings.TrimSpace(printed) != strings.TrimSpace(example.Output) {
			faults = append(faults, "printed "+printed+"and not "+example.Output)
		}
	}
	return faults
}

func TestProgramsBreak(t *testing.T) {
	const good = "package main\n\nimport _ \"" + module + "/atomicbucket\"\n\nfunc main() {\n\tprintln(1)\n\t// Output: 1\n}\n"
	assert.Len(t, programs("```go\n"+good+"```\n```go\nfunc part() {}\n```\n```\npackage main\n```\n"), 1)
	assert.Empty(t, programFaults(t, ".", good))
	assert.Empty(t, programFaults(t, home("adapters/fasthttpretry/README.md"), strings.Replace(good, "atomicbucket", "adapters/fasthttpretry", 1)))
	for edit, fault := range map[[2]string]string{
		{"println(1)", "missing()"}:   "undefined: missing",
		{"atomicbucket", "gone"}:      "/gone",
		{"println(1)", "println( 1)"}: "not gofmt-clean",
		{"println(1)", "println(2)"}:  "printed 2",
		{"println(1)", "panic(1)"}:    "panic: 1",
	} {
		assert.Contains(t, strings.Join(programFaults(t, ".", strings.ReplaceAll(good, edit[0], edit[1])), "\n"), fault)
	}
}

// A link to a file of the checkout leads to a file, a quoted make command to a target.
func TestReferences(t *testing.T) {
	targets := targets(read(t, "Makefile"))
	for _, name := range markdown(t) {
		for _, fault := range referenceFaults(name, read(t, name), targets) {
			t.Error(fault)
		}
	}
}

func targets(makefile string) map[string]bool {
	targets := make(map[string]bool)
	for _, match := range target.FindAllStringSubmatch(makefile, -1) {
		targets[match[1]] = true
	}
	return targets
}

func referenceFaults(name, text string, targets map[string]bool) (faults []string) {
	for _, match := range link.FindAllStringSubmatch(text, -1) {
		to, _, _ := strings.Cut(match[1], "#")
		if to == "" || strings.Contains(to, ":") {
			continue // a heading of the same page, another site
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(name), to)); err != nil {
			faults = append(faults, name+": the link to "+match[1]+" leads nowhere")
		}
	}
	commands := inline.FindAllStringSubmatch(text, -1)
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		commands = append(commands, typed.FindAllStringSubmatch(block[2], -1)...)
	}
	for _, match := range commands {
		if !targets[match[1]] {
			faults = append(faults, name+": the Makefile has no target for make "+match[1])
		}
	}
	return faults
}

// Below each heading stands something, if only a heading of its own.
func TestSectionsSaySomething(t *testing.T) {
	for _, name := range markdown(t) {
		for _, heading := range emptySections(read(t, name)) {
			t.Errorf("%s: nothing stands below %q", name, heading)
		}
	}
}

// emptySections are the headings that the text's end follows, or one that is not below them.
func emptySections(text string) (empty []string) {
	open, rank, fenced := "", 0, false
	end := func(next int) {
		if open != "" && next <= rank {
			empty = append(empty, open)
		}
		open = ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name := strings.TrimLeft(line, "#")
		switch level := len(line) - len(name); {
		case !fenced && level > 0 && strings.HasPrefix(name, " "):
			end(level)
			open, rank = line, level
		case line != "":
			open, fenced = "", fenced != strings.HasPrefix(line, "```")
		}
	}
	end(0)
	return empty
}

func TestSectionsSaySomethingBreaks(t *testing.T) {
	assert.Empty(t, emptySections("# A\n\n## B\ntext\n### C\n```sh\n# D\n# E\n```\n"))
	assert.Equal(t, []string{"## B", "# D"}, emptySections("# A\n## B\n\n## C\ntext\n# D\n"))
}

func TestReferencesBreak(t *testing.T) {
	targets := targets("test: ## run\n\tgo test\nlint: bin/tools\n")
	for text, fault := range map[string]string{
		"[a](go.mod) [b](https://go.dev/x) [c](#top) [d](api#x)": "",
		"[a](gone.md)":               "gone.md leads nowhere",
		"[a](gone/#part)":            "gone/#part leads nowhere",
		"run `make test`":            "",
		"```\nmake lint\n```":        "",
		"run `make tests`":           "no target for make tests",
		"```\n$ make all -j2\n```\n": "no target for make all",
		"to\nmake good of":           "",
	} {
		faults := strings.Join(referenceFaults("README.md", text, targets), "\n")
		if fault == "" {
			assert.Empty(t, faults, text)
		} else {
			assert.Contains(t, faults, fault, text)
		}
	}
}
