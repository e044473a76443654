package httpretry

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/reprise-go/reprise/classify"
)

// errorCode returns the error code of a failed response, without decorations:
// from its x-amzn-errortype header, else from its body, which stays whole in
// own, the response to go on with. cut says that ctx ended before the body had
// shown a code or that there is none.
func errorCode(ctx context.Context, resp *http.Response) (own *http.Response, code string, cut bool) {
	if code := classify.NormalizeCode(resp.Header.Get("X-Amzn-Errortype")); code != "" {
		return resp, code, false
	}
	if !mayHoldCode(resp) {
		return resp, "", false
	}
	limit := peekLimit
	if resp.ContentLength >= 0 && resp.ContentLength < peekLimit {
		limit = int(resp.ContentLength) + 1 // one more, to see the end
	}
	ahead := readAhead(ctx, resp, limit)
	code = classify.NormalizeCode(codeIn(ahead.start()))
	return ahead.to, code, code == "" && ctx.Err() != nil && !ahead.complete()
}

// mayHoldCode reports whether a body is worth a look: it is there, is not
// compressed, and is JSON, XML, or does not say what it is.
func mayHoldCode(resp *http.Response) bool {
	if resp.Body == nil || resp.Body == http.NoBody || resp.ContentLength == 0 || resp.Header.Get("Content-Encoding") != "" {
		return false
	}
	if resp.Request != nil && resp.Request.Method == http.MethodHead {
		return false
	}
	kind := strings.ToLower(resp.Header.Get("Content-Type"))
	return kind == "" || strings.Contains(kind, "json") || strings.Contains(kind, "xml")
}

// codeIn returns the error code in the beginning of a JSON or XML document, or
// "". What was cut off or is malformed counts up to there.
func codeIn(document []byte) string {
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
