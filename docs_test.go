package reprise_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every exported symbol of every public package, in all modules, has a sentence; every package says what it is for.
func TestDocs(t *testing.T) {
	described := make(map[string]bool)
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		described[s.dir()] = described[s.dir()] || s.ast.Doc != nil
		if s.ast.Name.Name != "main" && !strings.Contains("/"+s.path, "/internal/") {
			for _, fault := range docFaults(s) {
				t.Error(fault)
			}
		}
	}
	for dir, ok := range described {
		assert.True(t, ok, "package %s has no package comment: it is the design document of the package", dir)
	}
}

// docFaults names the exported symbols of one file that have no comment of the usual form.
func docFaults(s source) (faults []string) {
	want := func(node ast.Node, name string, starts bool, docs ...*ast.CommentGroup) {
		var text string
		for _, doc := range docs {
			text += doc.Text()
		}
		switch {
		case !ast.IsExported(name):
		case text == "":
			faults = append(faults, fmt.Sprintf("%s: %s has no comment", s.at(node), name))
		case starts && !regexp.MustCompile(`^((A|An|The) )?`+name+`\b`).MatchString(text):
			faults = append(faults, fmt.Sprintf("%s: the comment of %s does not start with its name", s.at(node), name))
		}
	}
	for _, decl := range s.ast.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil || ast.IsExported(receiver(decl.Recv.List[0].Type)) {
				want(decl, decl.Name.Name, true, decl.Doc)
			}
		case *ast.GenDecl:
			alone := decl.Lparen == token.NoPos
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if alone {
						want(spec, spec.Name.Name, true, decl.Doc)
					} else {
						want(spec, spec.Name.Name, true, spec.Doc)
					}
					if ast.IsExported(spec.Name.Name) {
						members(spec.Type, func(field *ast.Field, name string) {
							want(field, spec.Name.Name+"."+name, false, field.Doc, field.Comment)
						})
					}
				case *ast.ValueSpec: // a group may be described as a whole
					for _, name := range spec.Names {
						want(spec, name.Name, alone, decl.Doc, spec.Doc, spec.Comment)
					}
				}
			}
		}
	}
	return faults
}

// members calls yield for each exported field of a struct and each exported method of an interface, but for a sole
// method: the comment of the type describes it.
func members(expr ast.Expr, yield func(field *ast.Field, name string)) {
	var list *ast.FieldList
	switch expr := expr.(type) {
	case *ast.StructType:
		list = expr.Fields
	case *ast.InterfaceType:
		list = expr.Methods
	}
	if _, ok := expr.(*ast.InterfaceType); list == nil || ok && list.NumFields() == 1 {
		return
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			if name.IsExported() {
				yield(field, name.Name)
			}
		}
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return receiver(expr.X)
	case *ast.IndexExpr:
		return receiver(expr.X)
	case *ast.IndexListExpr:
		return receiver(expr.X)
	case *ast.Ident:
		return expr.Name
	}
	return ""
}

func TestDocsBreak(t *testing.T) {
	rows := []struct{ code, fault string }{
		{"// A Bucket holds.\ntype Bucket struct{ level int }", ""},
		{"// Classes.\nconst (\n A = iota\n B\n)", ""},
		{"const (\n A = iota // A is one.\n)", ""},
		{"func private() {}\ntype hidden struct{ Open int }\nfunc (hidden) Run() {}", ""},
		{"func Do() {}", "Do has no comment"},
		{"// Does it.\nfunc Do() {}", "Do does not start with its name"},
		{"// Dozen is more.\nfunc Do() {}", "Do does not start with its name"},
		{"// T is.\ntype T[P any] struct{}\nfunc (t *T[P]) M() {}", "M has no comment"},
		{"// T is.\ntype T struct{ Open int }", "T.Open has no comment"},
		{"// T is.\ntype T interface{ M() }", ""},
		{"// T is.\ntype T interface{ M(); N() }", "T.M has no comment"},
		{"type (\n T int\n)", "T has no comment"},
		{"var V int", "V has no comment"},
		{"const (\n A = 1\n)", "A has no comment"},
	}
	for _, row := range rows {
		faults := strings.Join(docFaults(parse(t, "p/p.go", "package p\n"+row.code)), "\n")
		if row.fault == "" {
			assert.Empty(t, faults, row.code)
		} else {
			assert.Contains(t, faults, row.fault, row.code)
		}
	}
}

// unwanted are words that no file may hold, with the reason. The classes of one letter keep this file from matching.
var unwanted = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`/wor[k]/|/roo[t]/|/home/[a-z]|/tmp/[w]t`), "speaks of one machine's folders"},
	{regexp.MustCompile(`GOPROX[Y]|GONOSUMD[B]|proxy\.golang\.or[g]|sum\.golang\.or[g]`), "speaks of where modules are fetched from"},
	{regexp.MustCompile(`\b(TOD[O]|FIXM[E]|XX[X])\b`), "leaves work behind: do it, or file it as an issue"},
}

// fileName is a name that somebody chose: what a mistyped flag left behind, such as "-", is none.
var fileName = regexp.MustCompile(`^[\w.][\w.-]*$`)

func wordFaults(name string, text []byte) (faults []string) {
	if !fileName.MatchString(path.Base(name)) {
		faults = append(faults, fmt.Sprintf("%q: no name for a file: is it a leftover?", name))
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		for _, word := range unwanted {
			if found := word.pattern.Find(line); found != nil {
				faults = append(faults, fmt.Sprintf("%s:%d: %q %s", name, i+1, found, word.why))
			}
		}
	}
	if lines := bytes.Count(text, []byte("\n")); lines > maxLines && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
		faults = append(faults, fmt.Sprintf("%s: %d lines, more than %d: which second idea does it hold?", name, lines, maxLines))
	}
	return faults
}

const maxLines = 400

// testFaults finds tests that wait in real time or do not run.
func testFaults(s source) (faults []string) {
	s.uses(func(importPath, name string, at ast.Node) {
		if importPath == "time" && name == "Sleep" {
			faults = append(faults, s.at(at)+": time.Sleep in a test: wait for the event, or in testing/synctest for a timer")
		}
	})
	ast.Inspect(s.ast, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, selector.Sel.Name) {
			if left, ok := selector.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, left.Name) {
				faults = append(faults, s.at(node)+": skips: a test that did not run reads like one that passed")
			}
		}
		return true
	})
	return faults
}

func TestWords(t *testing.T) {
	for _, name := range files(t, func(string) bool { return true }) {
		for _, fault := range wordFaults(name, []byte(read(t, name))) {
			t.Error(fault)
		}
	}
	for _, s := range sources(t) {
		if s.isTest() {
			for _, fault := range testFaults(s) {
				t.Error(fault)
			}
		}
	}
}

func TestWordsBreak(t *testing.T) {
	long := strings.Repeat("\n", maxLines+1)
	for text, fault := range map[string]string{
		"cd /wor" + "k/main":         "one machine's folders",
		"GOPROX" + "Y=off go build":  "fetched from",
		"// TOD" + "O: the rest":     "leaves work behind",
		long:                         "more than 400",
		"TODOS are no such thing":    "",
		"http.ProxyFromEnvironment":  "",
		long[:maxLines]:              "",
		"a network, a root/, a file": "",
	} {
		faults := strings.Join(wordFaults("p/p.go", []byte(text)), "\n")
		if fault == "" {
			assert.Empty(t, faults)
		} else {
			assert.Contains(t, faults, fault)
		}
	}
	assert.Empty(t, wordFaults("p/p_test.go", []byte(long)))
	for _, name := range []string{"p/-", "p/--html", "p/a b"} {
		assert.NotEmpty(t, wordFaults(name, nil), name)
	}
	for _, name := range []string{"p/p.go", ".gitignore", "p/back-and-forth", ".ci/run"} {
		assert.Empty(t, wordFaults(name, nil), name)
	}

	for code, fault := range map[string]string{
		`import "time"; func f() { time.Sleep(1) }`:           "time.Sleep in a test",
		`import "testing"; func f(t *testing.T) { t.Skip() }`: "skips",
		`import "io/fs"; var err = fs.SkipDir`:                "",
	} {
		faults := strings.Join(testFaults(parse(t, "p/p_test.go", "package p\n"+code)), "\n")
		if fault == "" {
			assert.Empty(t, faults)
		} else {
			assert.Contains(t, faults, fault)
		}
	}
}
