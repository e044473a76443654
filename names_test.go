package reprise_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	named    = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)`)
	option   = regexp.MustCompile(`(?:^|[^.\w])(With[A-Z]\w*)`)
	ran      = regexp.MustCompile(`^go (build|run|test|vet) (.*)`)
	inFolder = regexp.MustCompile(`^-C (\S+) `)
	folder   = regexp.MustCompile(`(?:^| )(\.(?:/[\w./]+)?)(?: |$)`)
	replaced = regexp.MustCompile(`-replace (\S+)=\.\./reprise(\S*)`)
	bench    = regexp.MustCompile(`-bench (?:'([^']*)'|(\S+))`)
)

// others are names in the documents that look as if they were here.
var others = map[string]bool{
	"ratelimit.TokenBucket": true, // of aws-sdk-go-v2
	"./hello":               true, // the reader's own folder
}

// Whoever takes a name, or a command of go's, from a document finds that it exists.
func TestNames(t *testing.T) {
	exported := exportedWords(t)
	for _, name := range markdown(t) {
		if name == "CHANGELOG.md" {
			continue // tells of what was, too
		}
		for _, code := range shown(read(t, name)) {
			for _, fault := range append(nameFaults(code, exported), goFaults(t, filepath.Dir(name), code)...) {
				t.Errorf("%s: %s", name, fault)
			}
		}
	}
}

// exportedWords has, by package, the words of api's lines.
func exportedWords(t *testing.T) map[string]map[string]bool {
	t.Helper()
	lists, err := filepath.Glob("api/*.txt")
	require.NoError(t, err)
	words := make(map[string]map[string]bool)
	for _, list := range lists {
		pkg := strings.TrimSuffix(list[strings.LastIndexAny(list, "/\\_")+1:], ".txt")
		words[pkg] = make(map[string]bool)
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(read(t, list), -1) {
			words[pkg][word] = true
		}
	}
	return words
}

func nameFaults(code string, exported map[string]map[string]bool) (faults []string) {
	for _, match := range named.FindAllStringSubmatch(code, -1) {
		if words := exported[match[1]]; words != nil && !words[match[2]] && !others[match[0]] {
			faults = append(faults, "package "+match[1]+" has no "+match[2]+": "+code)
		}
	}
	for _, match := range option.FindAllStringSubmatch(code, -1) {
		known := false
		for _, words := range exported {
			known = known || words[match[1]]
		}
		if !known {
			faults = append(faults, "no package has an option "+match[1]+": "+code)
		}
	}
	return faults
}

// goFaults looks for the folders that a command of go's names, from the root or from the folder of its document, and for
// the benchmarks that it would run there.
func goFaults(t *testing.T, home, code string) (faults []string) {
	t.Helper()
	for _, match := range replaced.FindAllStringSubmatch(code, -1) {
		text, err := os.ReadFile(filepath.Join(".", match[2], "go.mod"))
		if err != nil || !strings.HasPrefix(string(text), "module "+match[1]+"\n") {
			faults = append(faults, "no module for "+match[0])
		}
	}
	command := ran.FindStringSubmatch(strings.TrimPrefix(code, "$ "))
	if command == nil {
		return faults
	}
	args, _, _ := strings.Cut(command[2], " #")
	args, _, _ = strings.Cut(args, " &&")
	dirs := []string{".", home}
	if in := inFolder.FindStringSubmatch(args); in != nil {
		dirs = []string{in[1]}
	}
	pkg := "."
	if at := folder.FindStringSubmatch(quoted.ReplaceAllString(args, "''")); at != nil {
		pkg = at[1]
	}
	var benchmarks []string
	found := false
	for _, dir := range dirs {
		info, err := os.Stat(filepath.Join(dir, strings.TrimSuffix(pkg, "/...")))
		found = found || err == nil && info.IsDir()
		benchmarks = append(benchmarks, benchmarksIn(t, filepath.Join(dir, pkg))...)
	}
	if !found && !others[pkg] {
		return []string{"no folder for " + code}
	}
	wanted := bench.FindStringSubmatch(args)
	if wanted == nil {
		return nil
	}
	pattern, _, _ := strings.Cut(wanted[1]+wanted[2], "/")
	for _, one := range strings.Split(pattern, "|") {
		if !regexp.MustCompile(one).MatchString(strings.Join(benchmarks, "\n")) {
			faults = append(faults, "no benchmark "+one+" for "+code)
		}
	}
	return faults
}

func benchmarksIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, test := range tests {
		for _, match := range regexp.MustCompile(`(?m)^func (Benchmark\w+)`).FindAllStringSubmatch(read(t, test), -1) {
			names = append(names, match[1])
		}
	}
	return names
}

// README says what a machine must have for the tests: what .ci/servers installs.
func TestServers(t *testing.T) {
	installed := regexp.MustCompile(`\|\| set -- (.*)`).FindStringSubmatch(read(t, ".ci/servers"))
	require.NotNil(t, installed)
	checks := strings.ToLower(section(read(t, "README.md"), "Checks"))
	for _, pair := range strings.Fields(installed[1]) {
		command, _, _ := strings.Cut(pair, ":")
		assert.Contains(t, checks, command)
	}
}

func TestNamesBreak(t *testing.T) {
	exported := map[string]map[string]bool{"engine": {"New": true, "WithService": true}}
	for code, fault := range map[string]string{
		"e, err := engine.New(engine.WithService(id))": "",
		"engine.Now()":                                               "package engine has no Now",
		"engine.WithServices(id)":                                    "package engine has no WithServices",
		"WithServices":                                               "no package has an option WithServices",
		"http.Now, grpc.WithNothing":                                 "",
		"an engine. New":                                             "",
		"go test ./ratelimit -bench Storm":                           "",
		"go test -bench 'Enabled|Gone' -x ./ratelimit":               "no benchmark Gone",
		"go run ./examples/gone":                                     "no folder for",
		"go mod edit -replace " + module + "=../reprise":             "",
		"go mod edit -replace " + module + "/bench=../reprise/bench": "",
		"go mod edit -replace " + module + "/bench=../reprise/proof": "no module for",
		"go mod edit -replace " + module + "/gone=../reprise/gone":   "no module for",
		"go run -C examples/gone .":                                  "no folder for",
		"go run -C examples/grpc . && ./x":                           "",
		"go test -bench Refused .  # here":                           "",
		"go build -C cmd/reprise -o ../x .":                          "",
	} {
		faults := strings.Join(append(nameFaults(code, exported), goFaults(t, "ratelimit", code)...), "\n")
		if fault == "" {
			assert.Empty(t, faults, code)
		} else {
			assert.Contains(t, faults, fault, code)
		}
	}
}
