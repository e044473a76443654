package reprise_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/reprise-go/reprise"

// files lists the files of the checkout that match accepts, as slash paths from its root, without what .gitignore names.
func files(t *testing.T, match func(name string) bool) []string {
	t.Helper()
	ignore := append(strings.Fields(read(t, ".gitignore")), ".git")
	ignored := func(name string) bool {
		return slices.ContainsFunc(ignore, func(pattern string) bool {
			if !strings.HasPrefix(pattern, "/") {
				name = path.Base(name)
			}
			ok, err := path.Match(strings.Trim(pattern, "/"), name)
			require.NoError(t, err)
			return ok
		})
	}
	var found []string
	require.NoError(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case ignored(name) && entry.IsDir():
			return fs.SkipDir
		case !ignored(name) && entry.Type().IsRegular() && match(name):
			found = append(found, name)
		}
		return nil
	}))
	return found
}

// source is one parsed Go file.
type source struct {
	path string // from the root of the checkout, with slashes
	ast  *ast.File
}

// fset knows the lines of every source.
var fset = token.NewFileSet()

func parse(t *testing.T, name string, text any) source {
	t.Helper()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	return source{name, file}
}

// parsed is what sources has found: it takes seconds.
var parsed []source

// sources parses every Go file of the checkout, of all modules, whatever its build tags.
func sources(t *testing.T) []source {
	t.Helper()
	if parsed != nil {
		return parsed
	}
	var all []source
	for _, name := range files(t, func(name string) bool {
		return strings.HasSuffix(name, ".go") && !strings.Contains("/"+name, "/testdata/")
	}) {
		all = append(all, parse(t, name, nil))
	}
	require.NotEmpty(t, all)
	parsed = all
	return all
}

// core keeps the sources of the root module.
func core(t *testing.T, all []source) []source {
	t.Helper()
	others := files(t, func(name string) bool { return strings.HasSuffix(name, "/go.mod") })
	return slices.DeleteFunc(slices.Clone(all), func(s source) bool {
		return slices.ContainsFunc(others, func(mod string) bool {
			return strings.HasPrefix(s.path, path.Dir(mod)+"/")
		})
	})
}

// dir is the package's folder, "." for the root.
func (s source) dir() string { return path.Dir(s.path) }

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) at(node ast.Node) string { return fset.Position(node.Pos()).String() }

// imports maps the name by which the file knows each package to its import path.
func (s source) imports() map[string]string {
	byName := make(map[string]string)
	for _, spec := range s.ast.Imports {
		importPath := strings.Trim(spec.Path.Value, `"`)
		name := packageName(importPath)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		byName[name] = importPath
	}
	return byName
}

// packageName is what a package with this import path calls itself, by custom: it is in the package that it is said.
func packageName(importPath string) string {
	if major.MatchString(importPath) {
		importPath = path.Dir(importPath)
	}
	return strings.TrimSuffix(strings.TrimPrefix(path.Base(importPath), "go-"), "-go")
}

var major = regexp.MustCompile(`/v[0-9]+$`)

// uses calls yield for each name that the file takes from an imported package: "time", "Sleep".
func (s source) uses(yield func(importPath, name string, at ast.Node)) {
	byName := s.imports()
	ast.Inspect(s.ast, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if left, ok := selector.X.(*ast.Ident); ok && byName[left.Name] != "" {
				yield(byName[left.Name], selector.Sel.Name, selector)
			}
		}
		return true
	})
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
