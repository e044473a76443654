package main

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
)

// embeddedServer is the group of drive's flags about the server it brings.
const embeddedServer = "Embedded server"

// checkFlags says what is wrong with flags whatever their values mean: one that
// is empty, as of a shell variable that is not set, would pass for one that was
// left out, and one that says something of the embedded server would be without
// effect beside another.
func checkFlags(parsed *kong.Context) error {
	given := make(map[string]bool)
	embedded := "" // a flag about the embedded server
	for _, part := range parsed.Path {
		if at := part.Positional; at != nil && isEmpty(at.Target) {
			return fmt.Errorf("%s is empty: want one, or leave it out", at.Name)
		}
		flag := part.Flag
		if flag == nil {
			continue
		}
		given[flag.Name] = true
		if flag.Group != nil && flag.Group.Key == embeddedServer {
			embedded = flag.Name
		}
		if isEmpty(flag.Target) {
			return fmt.Errorf("--%s is empty: want a value, or leave it out", flag.Name)
		}
	}
	if !given["target"] {
		if given["allow-remote"] {
			return errors.New("--allow-remote without --target: the embedded server is on this machine")
		}
		return nil
	}
	if embedded != "" {
		return fmt.Errorf("--%s is the embedded server's: a --target has its own", embedded)
	}
	return nil
}

// isEmpty reports whether a text that was given, or a list of texts, has nothing in it.
func isEmpty(target reflect.Value) bool {
	switch value := reflect.Indirect(target); value.Kind() {
	case reflect.String:
		return strings.TrimSpace(value.String()) == ""
	case reflect.Slice:
		return value.Len() == 0
	default:
		return false
	}
}

// plainWords are the parser's complaints in words of a command line and not of
// a Go type.
var plainWords = []struct {
	complaint *regexp.Regexp
	words     string
}{
	{regexp.MustCompile(`: expected \w+ value but got "EOL" \(<EOL>\)$`), " has no value"},
	{regexp.MustCompile(`: expected a valid \d+ bit u?int but got `), ": want a whole number, got "},
	{regexp.MustCompile(`: expected u?int value but got "(-[^"]*)" \(short flag\); perhaps try .*`), `: want a whole number, 0 or more, got "$1"`},
	{regexp.MustCompile(`: expected \w+ value but got "(-[^"]*)" \(short flag\); perhaps try (.*)\?$`), `: "$1" looks like a flag: want a value, or $2 if it is one`},
	{regexp.MustCompile(`: expected a float but got (".*") \(\w+\)$`), ": want a number, got $1"},
	{regexp.MustCompile(`: expected duration but got (".*"): time: .*`), ": want a duration such as 10s or 1m30s, got $1"},
	{regexp.MustCompile(`^expected "<file> \.\.\."$`), "replay: no files: want FILE..., or - for standard input"},
}

// noCommand is the parser's complaint about a first word that is no command.
var noCommand = regexp.MustCompile(`^unexpected argument (.*?)(?:, did you mean "\w+"\?)?$`)

func inPlainWords(err error) error {
	text := err.Error()
	wrong, ok := errors.AsType[*kong.ParseError](err)
	if match := noCommand.FindStringSubmatch(text); ok && match != nil && wrong.Context.Selected() == nil {
		var names []string
		for _, command := range wrong.Context.Model.Leaves(true) {
			names = append(names, command.Name)
		}
		last := len(names) - 1
		return fmt.Errorf("unknown command %q: %swant %s or %s", scenario.Shorten(match[1]), scenario.DidYouMean(match[1], names), strings.Join(names[:last], ", "), names[last])
	}
	for _, plain := range plainWords {
		text = plain.complaint.ReplaceAllString(text, plain.words)
	}
	return errors.New(text)
}
