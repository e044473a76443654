package reprise_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// levels is the order of the core's packages. An import goes to a lower level only, so siblings do not see each other.
var levels = map[string]int{
	"internal/pad":        0,
	"internal/mono":       0,
	"internal/processor":  0,
	"internal/stripe":     0,
	"internal/invariant":  0,
	"internal/invocation": 0,
	"internal/loom":       0,
	"internal/atomic":     0,

	"atomicbucket": 1, // tokens
	"fastbackoff":  1, // delays
	"classify":     1, // classes

	"ratelimit": 2,

	"engine":       3,
	"settings":     3,
	"internal/sim": 3, // virtual-time fleet

	"internal/hammer":    leaf, // what hammers share, in tests alone
	"internal/answer":    leaf, // what the doors share above the engine
	"internal/tally":     leaf, // what those who show an engine share
	"adapters/httpretry": leaf,
	".":                  leaf, // the module's own page of documentation

	"examples/classifier": program,
	"examples/client":     program,
	"examples/eventloop":  program,
	"examples/gateway":    program,
}

const (
	leaf    = 4 // what no package imports
	program = 5 // what nothing can import: a program that shows a door
)

// sideways are the imports between siblings that we decided to allow, each with its reason.
var sideways = map[string]string{
	"internal/processor -> internal/atomic": "the portable way to a processor's number is a pool",
	"internal/stripe -> internal/processor": "a stripe belongs to a processor",
	"internal/stripe -> internal/pad":       "a stripe is a padded word",
	"internal/stripe -> internal/atomic":    "a stripe is an atomic word",
	"internal/atomic -> internal/loom":      "under the tag reprise_loom the words are stepped; without it nothing is imported",
	"internal/sim -> engine":                "the simulator runs the engine itself, not a model of it",
	"adapters/httpretry -> internal/answer": "what a failed answer says is read in one way by every door",
	"settings -> engine":                    "Settings.Options hands out engine options, and the engine must not know where settings come from",
}

// externals are the modules that the core's code may use, and the packages that may use them; nil means all. A test may
// use them anywhere.
var externals = map[string][]string{
	"go.uber.org/atomic":          {"internal/atomic", "internal/loom", "adapters/httpretry"}, // the core's words are internal/atomic's, so that loom sees them
	"github.com/valyala/fastrand": {"fastbackoff"},
	"gopkg.in/ini.v1":             {"settings"},
}

// testExternals are the modules that its tests may use besides.
var testExternals = []string{"github.com/stretchr/testify"}

// unreachable are packages that must not be linked in, however far away they are imported.
var unreachable = map[string][]string{
	"classify": {"net/http"},
	"engine":   {"net/http", "log", "log/slog"},
}

// linked are the files that may ask the runtime by go:linkname, each with the file that does the same without: it stands
// in by build tag, and the linked one says why what it does is safe.
var linked = map[string]string{
	"internal/processor/linked.go": "internal/processor/pooled.go",
}

// sleepers are the names of package time that somebody waits on. Only the engine waits: the rest is given the time or a
// delay. AfterFunc is not among them: nobody waits for it.
var sleepers = []string{"Sleep", "After", "NewTimer", "NewTicker", "Tick"}

// layerFaults says what the imports and names of one file of the core break.
func layerFaults(s source) []string {
	var faults []string
	fault := func(node ast.Node, format string, args ...any) {
		faults = append(faults, s.at(node)+": "+fmt.Sprintf(format, args...))
	}
	level, known := levels[s.dir()]
	if !known {
		fault(s.ast, "package %s has no level: find its place in DESIGN's layers and give it one in levels (layers_test.go)", s.dir())
		return faults
	}
	for _, spec := range s.ast.Imports {
		importPath := strings.Trim(spec.Path.Value, `"`)
		own, isOwn := strings.CutPrefix(importPath, module+"/")
		switch {
		case spec.Name != nil && spec.Name.Name == ".":
			fault(spec, "a dot import hides where names come from")
		case importPath == "C" || importPath == "unsafe":
			if !s.isTest() && (importPath == "C" || linked[s.path] == "") {
				fault(spec, "imports %s: the core is plain Go", importPath)
			}
		case isOwn:
			if target, ok := levels[own]; !ok {
				fault(spec, "imports %s, which has no level", own)
			} else if !s.isTest() && target >= level && sideways[s.dir()+" -> "+own] == "" {
				fault(spec, "%s (level %d) imports %s (level %d): imports go down only", s.dir(), level, own, target)
			}
		case strings.Contains(strings.Split(importPath, "/")[0], "."):
			if why := externalFault(s, importPath); why != "" {
				fault(spec, "%s", why)
			}
		}
	}
	if s.isTest() {
		return faults
	}
	s.uses(func(importPath, name string, at ast.Node) {
		switch {
		case importPath == "time" && slices.Contains(sleepers, name) && s.dir() != "engine":
			fault(at, "time.%s: only the engine waits", name)
		case importPath == "sync" && (name == "Mutex" || name == "RWMutex") && level < leaf:
			fault(at, "sync.%s: the core takes no lock", name)
		}
	})
	for _, group := range s.ast.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//go:linkname") && linked[s.path] == "" {
				fault(comment, "go:linkname: the core is plain Go")
			}
		}
	}
	return faults
}

func externalFault(s source, importPath string) string {
	for mod, users := range externals {
		if within(importPath, mod) {
			if users == nil || s.isTest() || slices.Contains(users, s.dir()) {
				return ""
			}
			return fmt.Sprintf("%s is for %s alone", mod, strings.Join(users, ", "))
		}
	}
	if s.isTest() && slices.ContainsFunc(testExternals, func(mod string) bool { return within(importPath, mod) }) {
		return ""
	}
	return fmt.Sprintf("imports %s: a dependency of the core is a dependency of every user; see externals in layers_test.go", importPath)
}

// within says whether a package belongs to the module (or folder) root.
func within(importPath, root string) bool {
	return importPath == root || strings.HasPrefix(importPath, root+"/")
}

func TestLayers(t *testing.T) {
	for _, s := range core(t, sources(t)) {
		for _, fault := range layerFaults(s) {
			t.Error(fault)
		}
	}
}

// A linked file names its proof, and exactly one of it and its stand-in is built under any tags.
func TestLinkedFilesHaveAProofAndAStandIn(t *testing.T) {
	for path, standIn := range linked {
		code, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(code), "// Safety: ", path)
		tags := func(path string) constraint.Expr {
			code, err := os.ReadFile(path)
			require.NoError(t, err)
			line, _, _ := strings.Cut(string(code), "\n")
			expr, err := constraint.Parse(line)
			require.NoError(t, err, path)
			return expr
		}
		one, other := tags(path), tags(standIn)
		// TinyGo has the go command find its files, which says gc.
		all := []string{"gc", "tinygo", "reprise_loom", "reprise_portable"}
		for set := range 1 << len(all) {
			on := func(tag string) bool { return set>>slices.Index(all, tag)&1 == 1 }
			assert.NotEqual(t, one.Eval(on), other.Eval(on), "%s and %s, tags %04b of %v", path, standIn, set, all)
			assert.Equal(t, set == 1, one.Eval(on), "%s is for the usual compiler, without any tag", path)
		}
	}
}

// Each row breaks one rule; a rule that lets its row pass guards nothing.
func TestLayersBreak(t *testing.T) {
	rows := []struct{ path, code, fault string }{
		{"atomicbucket/a.go", `import "github.com/reprise-go/reprise/internal/pad"`, ""},
		{"settings/a.go", `import "github.com/reprise-go/reprise/engine"`, ""},
		{"engine/a.go", `import "time"; func f() { time.Sleep(1) }`, ""},
		{"engine/a_test.go", `import "github.com/stretchr/testify/require"`, ""},
		{"ratelimit/a.go", `import "time"; var t = time.AfterFunc(1, nil)`, ""},
		{"fastbackoff/a_test.go", `import ("sync"; "unsafe"); var mu sync.Mutex; var _ unsafe.Pointer`, ""},
		{"retries/a.go", ``, "package retries has no level"},
		{"atomicbucket/a.go", `import "github.com/reprise-go/reprise/classify"`, "imports go down only"},
		{"atomicbucket/a.go", `import "github.com/reprise-go/reprise/engine"`, "imports go down only"},
		{"engine/a.go", `import "github.com/reprise-go/reprise/settings"`, "imports go down only"},
		{"engine/a.go", `import "github.com/reprise-go/reprise/adapters/httpretry"`, "imports go down only"},
		{"engine/a.go", `import "github.com/reprise-go/reprise/retries"`, "which has no level"},
		{"engine/a.go", `import "github.com/valyala/fastrand"`, "is for fastbackoff alone"},
		{"engine/a.go", `import "gopkg.in/ini.v1"`, "is for settings alone"},
		{"engine/a.go", `import "go.uber.org/atomic"`, "is for internal/atomic, internal/loom"},
		{"engine/a_test.go", `import "go.uber.org/atomic"`, ""},
		{"engine/a.go", `import "github.com/stretchr/testify/require"`, "a dependency of every user"},
		{"engine/a_test.go", `import "go.uber.org/goleak"`, "a dependency of every user"},
		{"engine/a.go", `import . "time"`, "dot import"},
		{"internal/pad/a.go", `import "unsafe"`, "imports unsafe"},
		{"internal/pad/a.go", `import "C"`, "imports C"},
		{"internal/mono/a.go", "//go:linkname nanotime runtime.nanotime\nfunc nanotime() int64", "go:linkname"},
		{"internal/processor/linked.go", "import _ \"unsafe\"\n//go:linkname procPin runtime.procPin\nfunc procPin() int", ""},
		{"internal/processor/linked.go", `import "C"`, "imports C"},
		{"internal/processor/processor.go", `import "unsafe"`, "imports unsafe"},
		{"ratelimit/a.go", `import clock "time"; var c = clock.After(1)`, "time.After: only the engine waits"},
		{"adapters/httpretry/a.go", `import "time"; var c = time.NewTimer(1)`, "only the engine waits"},
		{"engine/a.go", `import "sync"; type group struct { mu sync.RWMutex }`, "sync.RWMutex: the core takes no lock"},
	}
	for _, row := range rows {
		faults := layerFaults(parse(t, row.path, "package p\n"+row.code))
		if row.fault == "" {
			assert.Empty(t, faults, "%s: %s", row.path, row.code)
		} else {
			assert.Contains(t, strings.Join(faults, "\n"), row.fault, "%s: %s", row.path, row.code)
		}
	}
}

// What a package links in comes from the toolchain: an import three packages away counts too.
func TestUnreachable(t *testing.T) {
	for from, forbidden := range unreachable {
		deps := strings.Fields(run(t, "go", "list", "-deps", "./"+from))
		for _, to := range forbidden {
			assert.False(t, slices.Contains(deps, to), "%s reaches %s", from, to)
		}
	}
}

// The core's go.mod asks for what the core imports and for nothing else.
func TestRequirements(t *testing.T) {
	var mod struct {
		Go, Toolchain string
		Require       []struct {
			Path     string
			Indirect bool
		}
		Replace, Exclude []any
		Tool             []struct{ Path string }
	}
	require.NoError(t, json.Unmarshal([]byte(run(t, "go", "mod", "edit", "-json")), &mod))
	assert.Equal(t, "1.26", mod.Go)
	assert.Empty(t, mod.Toolchain)
	assert.Empty(t, slices.Concat(mod.Replace, mod.Exclude), "a user's build ignores these and would differ from what we test")

	var want, direct, tools []string
	ours := core(t, sources(t))
	for _, allowed := range append(slices.Collect(maps.Keys(externals)), testExternals...) {
		if slices.ContainsFunc(ours, func(s source) bool { return s.importsFrom(allowed) }) {
			want = append(want, allowed)
		}
	}
	for _, r := range mod.Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	for _, tool := range mod.Tool {
		tools = append(tools, tool.Path)
	}
	assert.ElementsMatch(t, want, direct, "direct requirements: what externals and testExternals allow and the code imports")
	assert.Equal(t, []string{"golang.org/x/perf/cmd/benchstat"}, tools)
}

// The core's words come through a package of ours and must still be instructions, not calls.
func TestWordsAreInlined(t *testing.T) {
	out, err := exec.Command("go", "build", "-gcflags=-m", "./atomicbucket", "./internal/stripe", "./ratelimit", "./engine").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, call := range []string{"atomic.(*Uint64).Load", "atomic.(*Uint64).CompareAndSwap", "atomic.(*Uint64).Add", "atomic.(*Int64).Load", "atomic.(*Float64).Load", "atomic.(*Int32).Swap", "sync.(*Map).Load"} {
		assert.Contains(t, string(out), "inlining call to "+call)
	}
}

func (s source) importsFrom(module string) bool {
	return slices.ContainsFunc(s.ast.Imports, func(spec *ast.ImportSpec) bool {
		return within(strings.Trim(spec.Path.Value, `"`), module)
	})
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if failed, ok := err.(*exec.ExitError); ok {
		require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), failed.Stderr)
	}
	require.NoError(t, err)
	return string(out)
}
