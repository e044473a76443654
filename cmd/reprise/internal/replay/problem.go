package replay

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
)

// fileError says what the decoder found in the words of the format, and where.
func (p *parser) fileError(err error) *FileError {
	if known, ok := errors.AsType[*FileError](err); ok {
		return known
	}
	e := &FileError{File: p.source.name, Problem: err.Error()}
	if p.at != nil {
		e.Case, e.Name = p.at.number, p.at.Name
	}
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		e.Line, e.Column = p.source.place(wrong.ByteOffset)
		e.Call, e.Step = stepOf(wrong.JSONPointer)
		e.Problem = wrongValue(wrong)
	} else if wrong := asSyntactic(err); wrong != nil {
		e.Line, e.Column = p.source.place(wrong.ByteOffset)
		e.Call, e.Step = stepOf(wrong.JSONPointer)
		e.Problem = wrong.Err.Error()
		if wrong.ByteOffset == 0 && p.encoding != "" {
			e.Problem = p.encoding
		} else if errors.Is(wrong.Err, jsontext.ErrDuplicateName) {
			e.Problem = fmt.Sprintf("key %q is there twice", scenario.Shorten(wrong.JSONPointer.LastToken()))
		} else if errors.Is(wrong.Err, io.ErrUnexpectedEOF) {
			e.Problem = "the file ends in the middle of its document"
		}
	} else if bound, ok := errors.AsType[boundError](err); ok {
		e.Problem = bound.Error()
	} else if err == io.EOF {
		e.Problem = "empty: want an object"
	} else if system, ok := errors.AsType[*fs.PathError](err); ok {
		e.Problem = system.Err.Error()
	}
	return e
}

func asSyntactic(err error) *jsontext.SyntacticError {
	wrong, _ := errors.AsType[*jsontext.SyntacticError](err)
	return wrong
}

// stepOf reads call and step, from 1, out of /cases/0/calls/0/steps/0; 0 if it
// does not go that deep.
func stepOf(at jsontext.Pointer) (call, step int) {
	parts := strings.Split(string(at), "/")
	if len(parts) > 4 && parts[3] == "calls" {
		call = number(parts[4])
		if len(parts) > 6 && parts[5] == "steps" {
			step = number(parts[6])
		}
	}
	return call, step
}

func number(index string) int {
	n, err := strconv.Atoi(index)
	if err != nil {
		return 0
	}
	return n + 1
}

// wrongValue says which key has which wrong value.
func wrongValue(wrong *json.SemanticError) string {
	key := wrong.JSONPointer.LastToken()
	if errors.Is(wrong.Err, json.ErrUnknownName) {
		return fmt.Sprintf("unknown key %q: want %s", scenario.Shorten(key), strings.Join(keys(wrong.GoType), ", "))
	}
	if bound, ok := errors.AsType[boundError](wrong.Err); ok {
		return bound.Error()
	}
	prefix := fmt.Sprintf("key %q: ", scenario.Shorten(key))
	if number(key) > 0 {
		prefix = fmt.Sprintf("an element of %q: ", wrong.JSONPointer.Parent().LastToken())
	}
	if wrong.Err == errNull {
		return prefix + errNull.Error()
	}
	got := kindName(wrong.JSONKind)
	if len(wrong.JSONValue) > 0 {
		got = scenario.Shorten(string(wrong.JSONValue))
	}
	return fmt.Sprintf("%swant %s, got %s", prefix, typeName(wrong.GoType), got)
}

// keys lists the keys of an object of the format.
func keys(object reflect.Type) []string {
	var names []string
	for i := range object.NumField() {
		if name := object.Field(i).Tag.Get("json"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	default:
		return "an object"
	}
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[', ']':
		return "an array"
	case '{', '}':
		return "an object"
	default:
		return "something else"
	}
}
