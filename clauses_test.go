package reprise_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

var (
	cited   = regexp.MustCompile(`\bR[1-9](?:\.[0-9]+)?\b`)
	defined = regexp.MustCompile(`(?m)^(?:## (R[1-9]) |\* \*\*(R[1-9]\.[0-9]+)\*\* )`)
)

// Whoever meets "R4.2" in a comment, a document or an answer finds it in RETRY.md.
func TestClauses(t *testing.T) {
	known := clauses(read(t, "RETRY.md"))
	for _, name := range files(t, func(name string) bool {
		return (strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".md")) && !strings.Contains("/"+name, "/testdata/") &&
			name != "clauses_test.go"
	}) {
		assert.Empty(t, clauseFaults(read(t, name), known), name)
	}
}

// clauses are those that a text defines, each once.
func clauses(text string) (known []string) {
	for _, match := range defined.FindAllStringSubmatch(text, -1) {
		known = append(known, match[1]+match[2])
	}
	return known
}

// clauseFaults names the clauses that a text cites and that are not known.
func clauseFaults(text string, known []string) (faults []string) {
	for _, clause := range cited.FindAllString(text, -1) {
		if !slices.Contains(known, clause) {
			faults = append(faults, clause)
		}
	}
	return faults
}

func TestClausesBreak(t *testing.T) {
	known := clauses("## R4 Backoff\n\nR5 is elsewhere.\n\n* **R4.1** The base.\n* R4.2 the ceilings\n")
	assert.Equal(t, []string{"R4", "R4.1"}, known)
	assert.Empty(t, clauseFaults("R4, (R4.1). R10 ER4.2", known))
	assert.Equal(t, []string{"R4.10", "R5"}, clauseFaults("R4.10 R5 R4.1.", known))
}
