package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	shown   = regexp.MustCompile("(?m)(?:^|[`|&] *)(?:[A-Z_]+=\\S+ )?(?:bin/)?reprise ([a-z-][^`\n]*)")
	word    = regexp.MustCompile(`^(?:'[^']*'|"[^"]*"|[^\s'"])+`)
	comment = regexp.MustCompile(`^(?: {2,}| +[#|&])`)
)

// commandLines are those that a text shows, as code or as lines of their own, each in its words: up to two blanks, a #,
// a pipe or the end.
func commandLines(text string) (found [][]string) {
	for _, match := range shown.FindAllStringSubmatch(text, -1) {
		var args []string
		for rest := match[1]; rest != ""; rest = strings.TrimPrefix(rest, " ") {
			if comment.MatchString(" " + rest) {
				break
			}
			next := word.FindString(rest)
			if next == "" {
				break
			}
			args = append(args, strings.Trim(next, `'"`))
			rest = rest[len(next):]
			if comment.MatchString(rest) {
				break
			}
		}
		found = append(found, args)
	}
	return found
}

// commandFault is what the command has against a command line, without running it.
func commandFault(t *testing.T, args []string) error {
	t.Helper()
	helped := false
	parser, err := newParser(io.Discard, io.Discard, func(int) { helped = true })
	require.NoError(t, err)
	parsed, err := parser.Parse(args)
	if helped {
		return nil
	}
	if err != nil {
		return err
	}
	return checkFlags(parsed)
}

// Whoever copies a command line from a help or a document gets a command that knows it.
func TestShownCommandLines(t *testing.T) {
	texts := make(map[string]string)
	for _, help := range []string{driveCommand{}.Help(), replayCommand{}.Help(), explainCommand{}.Help(), stormCommand{}.Help(), proxyCommand{}.Help()} {
		_, examples, found := strings.Cut(help, "\nExamples:\n")
		require.True(t, found)
		texts["help: "+strings.TrimSpace(examples)] = strings.ReplaceAll(examples, "\n  ", "\n")[2:]
	}
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md") && entry.Name() != "CHANGELOG.md": // which tells of what was, too
			text, err := os.ReadFile(name)
			texts[name] = string(text)
			return err
		}
		return nil
	}))
	seen := 0
	for name, text := range texts {
		for _, args := range commandLines(text) {
			seen++
			assert.NoError(t, commandFault(t, args), "%s: reprise %s", name, strings.Join(args, " "))
		}
	}
	assert.Greater(t, seen, 50)
}

func TestShownCommandLinesBreak(t *testing.T) {
	for text, want := range map[string][]string{
		"reprise drive  a run":                       {"drive"},
		"reprise drive --calls 5 # five":             {"drive", "--calls", "5"},
		"or `bin/reprise storm --list`, which":       {"storm", "--list"},
		"make it && reprise proxy --check":           {"proxy", "--check"},
		"calls | reprise replay --json - | jq .":     {"replay", "--json", "-"},
		"A=5 reprise explain --header 'a: b' --json": {"explain", "--header", "a: b", "--json"},
	} {
		assert.Equal(t, [][]string{want}, commandLines(text), text)
	}
	assert.Empty(t, commandLines("the reprise drive of `reprise.drive/1`"))
	for line, want := range map[string]string{
		"drives":                      "unexpected argument drives",
		"drive --call 5":              "unknown flag --call",
		"drive --calls many":          "--calls",
		"drive --target x --seed 5":   "--seed",
		"storm --size --attempts 3":   "unknown flag --attempts",
		"explain --status 503 banana": "unexpected argument banana",
	} {
		assert.ErrorContains(t, commandFault(t, strings.Fields(line)), want)
	}
}
