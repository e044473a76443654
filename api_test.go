package reprise_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite api/*.txt to what the packages export")

// api/<package>.txt holds what each public package of the core and of the adapters exports, a line each. A change of it is
// a change of what users build on, so it has to be seen in the diff.
func TestAPI(t *testing.T) {
	golden := make(map[string]bool)
	for _, pkg := range publicPackages(t) {
		name := "api/" + strings.ReplaceAll(pkg.Path()[len(module)+1:], "/", "_") + ".txt"
		golden[name] = true
		exported := exports(pkg)
		for _, line := range exported {
			assert.NotContains(t, line, "invalid type", "%s: the root sees no type here: write it where the name is declared, or give its import a name", pkg.Path())
		}
		if *update {
			require.NoError(t, os.MkdirAll("api", 0o755))
			require.NoError(t, os.WriteFile(name, []byte(strings.Join(exported, "\n")+"\n"), 0o644))
			continue
		}
		text, err := os.ReadFile(name)
		if !assert.NoError(t, err, "%s is new: accept it with `go test -run API . -update`", pkg.Path()) {
			continue
		}
		if faults := apiFaults(strings.Split(strings.TrimSpace(string(text)), "\n"), exported); len(faults) > 0 {
			t.Errorf("%s is no longer what %s exports:\n\t%s\n%s", name, pkg.Path(), strings.Join(faults, "\n\t"), howToChange)
		}
	}
	kept, err := filepath.Glob("api/*.txt")
	require.NoError(t, err)
	for _, name := range kept {
		assert.Contains(t, golden, filepath.ToSlash(name), "its package is gone: users import it; keep it, deprecated, and name the replacement")
	}
}

const howToChange = `What is removed or changed, users build on: keep it with a comment "Deprecated: use <replacement>".
What is added and meant to be public, and what is broken on purpose before v1 (say so in CHANGELOG.md), is accepted with
	go test -run API . -update`

func apiFaults(golden, exported []string) (faults []string) {
	for _, line := range golden {
		if !slices.Contains(exported, line) {
			faults = append(faults, "removed or changed: "+line)
		}
	}
	for _, line := range exported {
		if !slices.Contains(golden, line) {
			faults = append(faults, "added: "+line)
		}
	}
	return faults
}

func TestAPIBreak(t *testing.T) {
	golden, same := []string{"func A()", "func B()"}, []string{"func A()", "func B()"}
	assert.Empty(t, apiFaults(golden, same))
	assert.Contains(t, strings.Join(apiFaults(golden, same[:1]), ""), `removed or changed: func B()`)
	assert.Contains(t, strings.Join(apiFaults(golden[:1], same), ""), `added: func B()`)
	assert.Len(t, apiFaults(golden, []string{"func A()", "func B(int)"}), 2)
}

// publicPackages loads the packages of the core and of the adapters that somebody else can import.
func publicPackages(t *testing.T) (public []*types.Package) {
	t.Helper()
	packages := make(map[string][]source)
	for _, s := range sources(t) {
		if s.isPublic(t) {
			packages[s.dir()] = append(packages[s.dir()], s)
		}
	}
	built := archives(t)
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		public = append(public, load(dir, packages[dir], built))
	}
	return public
}

// isPublic says whether the file is built into a package that users are meant to import: proofs and benchmarks are ours.
func (s source) isPublic(t *testing.T) bool {
	t.Helper()
	private := func(folder string) bool { return slices.Contains([]string{".", "internal", "proof", "bench"}, folder) }
	if s.isTest() || s.ast.Name.Name == "main" || slices.ContainsFunc(strings.Split(s.dir(), "/"), private) {
		return false
	}
	matches, err := build.Default.MatchFile(s.dir(), path.Base(s.path))
	require.NoError(t, err)
	return matches
}

// archives imports what the core and its dependencies export, as the compiler has it.
func archives(t *testing.T) types.Importer {
	t.Helper()
	byPath := make(map[string]string)
	for line := range strings.Lines(run(t, "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./...")) {
		if importPath, archive, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			byPath[importPath] = archive
		}
	}
	return importer.ForCompiler(fset, "gc", func(importPath string) (io.ReadCloser, error) {
		return os.Open(byPath[importPath])
	})
}

// load type-checks what a package declares. The root cannot build what only an adapter's module requires: a stand-in
// takes its place, and what is wrong with that in the eyes of the compiler does not matter.
func load(dir string, files []source, built types.Importer) *types.Package {
	var parsed []*ast.File
	for _, s := range files {
		parsed = append(parsed, s.ast)
	}
	check := types.Config{IgnoreFuncBodies: true, Error: func(error) {}}
	check.Importer = importerFunc(func(importPath string) (*types.Package, error) {
		if pkg, err := built.Import(importPath); err == nil {
			return pkg, nil
		}
		return standIn(importPath, files), nil
	})
	pkg, _ := check.Check(module+"/"+dir, fset, parsed, nil)
	return pkg
}

type importerFunc func(importPath string) (*types.Package, error)

func (f importerFunc) Import(importPath string) (*types.Package, error) { return f(importPath) }

// standIn makes a package of the names that files take from it, each a type: a string, so that a constant of it keeps
// its value.
func standIn(importPath string, files []source) *types.Package {
	pkg := types.NewPackage(importPath, packageName(importPath))
	for _, s := range files {
		s.uses(func(from, name string, _ ast.Node) {
			if from == importPath {
				object := types.NewTypeName(token.NoPos, pkg, name, nil)
				types.NewNamed(object, types.Typ[types.String], nil)
				pkg.Scope().Insert(object)
			}
		})
	}
	pkg.MarkComplete()
	return pkg
}

func TestExportsWithoutTheModulesImported(t *testing.T) {
	code := `package p
		import ("example.org/go-attribute"; server "example.org/x"; "example.org/grpc/v2")
		const Key = attribute.Key("k")
		var Unseen = grpc.Default
		type T struct { grpc.Client; Config *server.Config }
		func New(opts ...grpc.Option) (T, error) { return undefined }
		func (T) Do(map[grpc.Code]bool) {}`
	none := importerFunc(func(string) (*types.Package, error) { return nil, fs.ErrNotExist })
	pkg := load("adapters/p", []source{parse(t, "adapters/p/p.go", code)}, none)
	assert.Equal(t, []string{
		`const Key attribute.Key = "k"`,
		`func New(opts ...grpc.Option) (T, error)`,
		`method (T) Do(map[grpc.Code]bool)`,
		`type T struct`,
		`type T struct, Client grpc.Client`,
		`type T struct, Config *x.Config`,
		`var Unseen invalid type`,
	}, exports(pkg))
}

// exports lists what a package exports, sorted: one line for each name, field and method.
func exports(pkg *types.Package) (lines []string) {
	short := func(other *types.Package) string {
		if other == pkg {
			return ""
		}
		return other.Name()
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	text := func(t types.Type) string { return types.TypeString(t, short) }
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		switch object := object.(type) {
		case *types.Const:
			add("const %s %s = %s", name, text(object.Type()), object.Val().ExactString())
		case *types.Var:
			add("var %s %s", name, text(object.Type()))
		case *types.Func:
			add("func %s%s", name, strings.TrimPrefix(text(object.Type()), "func"))
		case *types.TypeName:
			addType(add, text, object)
		}
	}
	slices.Sort(lines)
	return lines
}

func addType(add func(string, ...any), text func(types.Type) string, object *types.TypeName) {
	name := object.Name()
	if object.IsAlias() {
		add("type %s = %s", name, text(types.Unalias(object.Type())))
		return
	}
	switch under := object.Type().Underlying().(type) {
	case *types.Struct:
		add("type %s struct", name)
		for field := range under.Fields() {
			if field.Exported() {
				add("type %s struct, %s %s", name, field.Name(), text(field.Type()))
			}
		}
	case *types.Interface:
		add("type %s interface", name)
		for method := range under.Methods() {
			add("type %s interface, %s%s", name, method.Name(), strings.TrimPrefix(text(method.Type()), "func"))
		}
		return
	default:
		add("type %s %s", name, text(under))
	}
	for selection := range types.NewMethodSet(types.NewPointer(object.Type())).Methods() {
		method := selection.Obj().(*types.Func)
		if method.Exported() {
			receiver := method.Signature().Recv().Type()
			add("method (%s) %s%s", text(receiver), method.Name(), strings.TrimPrefix(text(method.Type()), "func"))
		}
	}
}
