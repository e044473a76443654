package main

import (
	"fmt"
	"os"
	"strings"
)

// mutant is one fault of the list.
type mutant struct {
	Name        string   `json:"name"`
	File        string   `json:"file"` // from the root of the module
	Packages    []string `json:"packages"`
	Why         string   `json:"why"`
	Original    string   `json:"original"`
	Replacement string   `json:"replacement"`
}

// readList reads a list of faults: blocks, each begun by its name in brackets.
//
//	# a comment
//	[bucket-has-boundary]
//	file atomicbucket/bucket.go
//	test ./atomicbucket ./engine
//	why  the look before the taking refuses what just fits (R6.1)
//	- return levelOf(unpack(b.word.Load())) >= n
//	+ return levelOf(unpack(b.word.Load())) > n
//
// Several lines with - or + are text of several lines; their blanks behind the first one count. No + removes the text.
// test is the folder of the file unless said otherwise.
func readList(name string) ([]mutant, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []mutant
	var m *mutant
	seen := make(map[string]bool)
	for i, line := range strings.Split(string(data), "\n") {
		fault := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", name, i+1, fmt.Sprintf(format, args...))
		}
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || word == "#":
			continue
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			if seen[line] {
				return nil, fault("%s stands there twice", line)
			}
			seen[line] = true
			all = append(all, mutant{Name: strings.Trim(line, "[]")})
			m = &all[len(all)-1]
			continue
		case m == nil:
			return nil, fault("%q before the first [name]", line)
		}
		switch word {
		case "file":
			m.File = rest
		case "test":
			m.Packages = strings.Fields(rest)
		case "why":
			m.Why = strings.TrimSpace(rest)
		case "-":
			m.Original = more(m.Original, rest)
		case "+":
			m.Replacement = more(m.Replacement, rest)
		default:
			return nil, fault("%q: want file, test, why, - or +", word)
		}
	}
	for i := range all {
		m := &all[i]
		if m.File == "" || m.Original == "" || m.Why == "" || m.Original == m.Replacement {
			return nil, fmt.Errorf("%s: [%s]: want a file, a why, and an original that differs from its replacement", name, m.Name)
		}
		if m.Packages == nil {
			folder := "."
			if i := strings.LastIndex(m.File, "/"); i >= 0 {
				folder = "./" + m.File[:i]
			}
			m.Packages = []string{folder}
		}
	}
	return all, nil
}

func more(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}
