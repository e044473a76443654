package answer

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"slices"
	"strings"
)

// PeekLimit is how much of a failed answer's body is looked at to find the error
// code in it, in bytes.
const PeekLimit = 8 << 10

// MayHoldCode reports whether a body of this content type is worth a look: it is
// JSON, XML, or does not say what it is. Wait-free.
func MayHoldCode(contentType string) bool {
	kind := strings.ToLower(contentType)
	return kind == "" || strings.Contains(kind, "json") || strings.Contains(kind, "xml")
}

// Code returns the error code in the beginning of a JSON or XML document (R3.1),
// with whatever decoration it has, or "". It is "__type", "code" or "Code" of the
// outermost JSON object, or in XML Error/Code, ErrorResponse/Error/Code or
// Response/Errors/Error/Code. What was cut off or is malformed counts up to there.
// Wait-free.
func Code(document []byte) string {
	document = bytes.TrimPrefix(document, []byte("\xef\xbb\xbf"))
	document = bytes.TrimLeft(document, " \t\r\n")
	if len(document) == 0 {
		return ""
	}
	switch document[0] {
	case '{':
		return codeInJSON(document)
	case '<':
		return codeInXML(document)
	}
	return ""
}

// codeInJSON returns the first string under the name __type, else code, else
// Code, of the outermost object. The decoder works token by token, so depth
// costs no stack.
func codeInJSON(document []byte) string {
	var found [3]string // by rank
	decoder := json.NewDecoder(bytes.NewReader(document))
	depth, rank := 0, -1
	isName := false // the next string of the outermost object is a name
	for {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		outermost := depth == 1
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
				isName = depth == 1
			} else if depth--; depth == 0 {
				return first(found[:])
			} else {
				isName = depth == 1
			}
			rank = -1
		case string:
			if outermost && isName {
				rank = slices.Index(codeNames, token)
				isName = false
				continue
			}
			if outermost && rank >= 0 && found[rank] == "" {
				found[rank] = token
			}
			isName = outermost
		default:
			isName = outermost
		}
	}
	return first(found[:])
}

var codeNames = []string{"__type", "code", "Code"}

func first(found []string) string {
	for _, s := range found {
		if s != "" {
			return s
		}
	}
	return ""
}

// codePaths are where XML errors have their code: S3 and the REST services, the
// query services, EC2.
var codePaths = [][]string{
	{"Error", "Code"},
	{"ErrorResponse", "Error", "Code"},
	{"Response", "Errors", "Error", "Code"},
}

// maxCodeDepth is the length of the longest of codePaths.
const maxCodeDepth = 4

// codeInXML returns the text of the first Code element that is where one
// belongs. It counts once the element has ended: half a code may be another.
func codeInXML(document []byte) string {
	decoder := xml.NewDecoder(bytes.NewReader(document))
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var path [maxCodeDepth]string
	var text []byte
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth < maxCodeDepth {
				path[depth] = token.Name.Local
			}
			depth++
			text = text[:0]
		case xml.CharData:
			text = append(text, token...)
		case xml.EndElement:
			if depth <= maxCodeDepth && isCodePath(path[:depth]) {
				if code := bytes.TrimSpace(text); len(code) > 0 {
					return string(code)
				}
			}
			depth--
			text = text[:0]
		}
	}
}

func isCodePath(path []string) bool {
	for _, want := range codePaths {
		if slices.Equal(path, want) {
			return true
		}
	}
	return false
}
