package reprise_test

import (
	"go/doc"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	fence  = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inline = regexp.MustCompile("`([^`\n]+)`")
	quoted = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	target = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
	asked  = regexp.MustCompile(`\$\(([A-Z]+)\)`)
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

// A link to a file of the checkout leads to a file, and to a heading of it where it names one; a make command that is
// shown names targets, and variables that a target asks for.
func TestReferences(t *testing.T) {
	words := makeWords(read(t, "Makefile"))
	for _, name := range markdown(t) {
		for _, fault := range referenceFaults(t, name, read(t, name), words) {
			t.Error(fault)
		}
	}
}

// makeWords are the targets, and as "NAME=" the variables, of a Makefile.
func makeWords(makefile string) map[string]bool {
	words := make(map[string]bool)
	for _, match := range target.FindAllStringSubmatch(makefile, -1) {
		words[match[1]] = true
	}
	for _, match := range asked.FindAllStringSubmatch(makefile, -1) {
		words[match[1]+"="] = true
	}
	return words
}

// shown are the command lines of a document: what is set as code in its text, and the lines of its blocks, be they
// fenced or indented.
func shown(text string) (commands []string) {
	prose := fence.ReplaceAllStringFunc(text, func(block string) string {
		commands = append(commands, strings.Split(block, "\n")...)
		return ""
	})
	for line := range strings.Lines(prose) {
		if strings.HasPrefix(line, "    ") {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	for _, match := range inline.FindAllStringSubmatch(prose, -1) {
		commands = append(commands, match[1])
	}
	return commands
}

// anchors are what a link may say after the # to come to a heading: its words, small, with dashes for blanks.
func anchors(text string) map[string]bool {
	found := make(map[string]bool)
	for line := range strings.Lines(fence.ReplaceAllString(text, "")) {
		if name := strings.TrimLeft(line, "#"); name != line && strings.HasPrefix(name, " ") {
			anchor := strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
					return unicode.ToLower(r)
				}
				return -1
			}, strings.TrimSpace(link.ReplaceAllString(name, "")))
			for n, first := 1, anchor; found[anchor]; n++ {
				anchor = first + "-" + strconv.Itoa(n)
			}
			found[anchor] = true
		}
	}
	return found
}

func referenceFaults(t *testing.T, name, text string, words map[string]bool) (faults []string) {
	t.Helper()
	for _, match := range link.FindAllStringSubmatch(text, -1) {
		to, anchor, _ := strings.Cut(match[1], "#")
		if strings.Contains(to, ":") {
			continue // another site
		}
		page := text
		if to != "" {
			to = filepath.Join(filepath.Dir(name), to)
			if _, err := os.Stat(to); err != nil {
				faults = append(faults, name+": the link to "+match[1]+" leads nowhere")
				continue
			}
			if anchor == "" || !strings.HasSuffix(to, ".md") {
				continue
			}
			page = read(t, to)
		}
		if !anchors(page)[anchor] {
			faults = append(faults, name+": the link to "+match[1]+" names no heading")
		}
	}
	for _, command := range shown(text) {
		fields := strings.Fields(quoted.ReplaceAllString(strings.TrimPrefix(command, "$ "), ""))
		if len(fields) == 0 || fields[0] != "make" {
			continue
		}
		for _, word := range fields[1:] {
			if strings.HasPrefix(word, "#") || word == "&&" {
				break
			}
			if variable, _, set := strings.Cut(word, "="); set {
				word = variable + "="
			}
			if !words[word] && !strings.HasPrefix(word, "-") {
				faults = append(faults, name+": the Makefile has nothing for "+word+" of "+command)
			}
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
	words := makeWords("test: ## run\n\tgo test $(ARGS)\nlint: bin/tools\n386:\n")
	for text, fault := range map[string]string{
		"[a](go.mod) [b](https://go.dev/x) [d](api#x)":                "",
		"# The `top`, again\n[c](#the-top-again)":                     "",
		"# A\n## A\n[c](#a-1)":                                        "",
		"# A\n[c](#b)":                                                "#b names no heading",
		"```\n# A\n```\n[c](#a)":                                      "#a names no heading",
		"[c](RETRY.md#r4-backoff) [d](RETRY.md)":                      "",
		"[c](RETRY.md#r4-nothing)":                                    "RETRY.md#r4-nothing names no heading",
		"[a](gone.md)":                                                "gone.md leads nowhere",
		"[a](gone/#part)":                                             "gone/#part leads nowhere",
		"run `make test`, or `make lint 386`":                         "",
		"`make test ARGS=\"-a b\"` `make test ARGS='-r \"x y\"' -j2`": "",
		"```\nmake lint   # for all\n```":                             "",
		"run `make tests`":                                            "nothing for tests of make tests",
		"`make lint arm64`":                                           "nothing for arm64",
		"`make test ARG=1`":                                           "nothing for ARG= of",
		"```\n$ make all -j2\n```\n":                                  "nothing for all",
		"so:\n\n    make all\n":                                       "nothing for all",
		"to\nmake good of":                                            "",
	} {
		faults := strings.Join(referenceFaults(t, "README.md", text, words), "\n")
		if fault == "" {
			assert.Empty(t, faults, text)
		} else {
			assert.Contains(t, faults, fault, text)
		}
	}
}
