package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
)

// Format is the only value of a file's "format" key.
const Format = "reprise-replay/1"

// bounds are what a reader accepts: a case is held in memory as a whole, a
// string as one piece.
type bounds struct {
	caseBytes, stringBytes int64
	caseSteps              int
}

var defaultBounds = bounds{caseBytes: 256 << 20, stringBytes: 64 << 10, caseSteps: 2 << 20}

// Parse yields the valid cases of a file one by one, as it reads them, so that
// it holds one at a time. An error, always a *FileError, is the last thing it yields.
func Parse(name string, r io.Reader) iter.Seq2[*Case, error] {
	return parse(name, r, defaultBounds)
}

func parse(name string, r io.Reader, most bounds) iter.Seq2[*Case, error] {
	return func(yield func(*Case, error) bool) {
		p := &parser{source: &source{name: name, r: r}, most: most}
		p.dec = jsontext.NewDecoder(p,
			json.RejectUnknownMembers(true),
			json.WithUnmarshalers(json.JoinUnmarshalers(
				json.UnmarshalFromFunc(p.markStep),
				json.UnmarshalFromFunc(refuseNull))))
		if err := p.document(func(c *Case) bool { return yield(c, nil) }); err != nil && err != errStopped {
			yield(nil, p.fileError(err))
		}
	}
}

// errStopped ends a parse whose reader has seen enough.
var errStopped = errors.New("stopped")

type parser struct {
	source *source
	dec    *jsontext.Decoder
	most   bounds
	at     *Case // the case being read, if any
	steps  int   // of that case
	begin  int64 // offset of that case

	encoding string // what is wrong with the file's first bytes, if they tell
}

// boundError is a file that asks for too much memory.
type boundError string

func (e boundError) Error() string { return string(e) }

// Read feeds the decoder up to the bounds.
func (p *parser) Read(b []byte) (int, error) {
	if p.source.read-p.dec.InputOffset() > p.most.stringBytes {
		return 0, boundError(fmt.Sprintf("a string or blanks of more than %d KiB", p.most.stringBytes>>10))
	}
	if p.at != nil && p.source.read-p.begin > p.most.caseBytes {
		return 0, boundError(fmt.Sprintf("a case of more than %d MiB: split it", p.most.caseBytes>>20))
	}
	begun := p.source.read > 0
	n, err := p.source.Read(b)
	if !begun {
		p.encoding = encodingFault(b[:n])
	}
	return n, err
}

// encodingFault names the marks that Windows programs begin a text with.
func encodingFault(begin []byte) string {
	switch {
	case bytes.HasPrefix(begin, []byte("\xef\xbb\xbf")):
		return "the file begins with a byte order mark: want UTF-8 without one"
	case bytes.HasPrefix(begin, []byte("\xff\xfe")), bytes.HasPrefix(begin, []byte("\xfe\xff")):
		return "the file is UTF-16: want UTF-8"
	}
	return ""
}

// document reads the whole file. The keys may come in any order, and a file that
// says last what it is has run by then: only its own format has such keys.
func (p *parser) document(yield func(*Case) bool) error {
	if err := p.open('{', "an object"); err != nil {
		return err
	}
	var format string
	cases := 0
	for p.dec.PeekKind() != '}' {
		key, err := p.dec.ReadToken()
		if err != nil {
			return err
		}
		switch key.String() {
		case "format":
			if err := json.UnmarshalDecode(p.dec, &format); err != nil {
				return err
			}
			if format != Format {
				return p.problem("format is %q: want %q", scenario.Shorten(format), Format)
			}
		case "cases":
			if cases, err = p.cases(yield); err != nil {
				return err
			}
		default:
			return p.problem("unknown key %q: want format, cases", scenario.Shorten(key.String()))
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	if format == "" {
		return p.problem("no format: want \"format\":%q", Format)
	}
	if cases == 0 {
		return p.problem("no cases, so there is nothing to replay")
	}
	behind := p.problem("data after the end of the document")
	if _, err := p.dec.ReadToken(); err == nil || asSyntactic(err) != nil {
		return behind
	} else if err != io.EOF {
		return err
	}
	return nil
}

// cases reads the array of cases and returns how many it has.
func (p *parser) cases(yield func(*Case) bool) (int, error) {
	if err := p.open('[', "an array"); err != nil {
		return 0, err
	}
	n := 0
	for p.dec.PeekKind() != ']' {
		n++
		p.at = &Case{number: n, offset: p.offset(), file: p.source}
		p.begin, p.steps = p.dec.InputOffset(), 0
		if err := json.UnmarshalDecode(p.dec, p.at); err != nil {
			return n, err
		}
		if err := p.at.validate(); err != nil {
			return n, err
		}
		if !yield(p.at) {
			return n, errStopped
		}
		p.at = nil
		p.source.forget(p.dec.InputOffset())
	}
	_, err := p.dec.ReadToken()
	return n, err
}

// open reads the token that opens an array or an object.
func (p *parser) open(kind jsontext.Kind, want string) error {
	if got := p.dec.PeekKind(); got != kind && got != jsontext.KindInvalid {
		return p.problem("want %s, got %s", want, kindName(got))
	}
	_, err := p.dec.ReadToken()
	return err
}

// markStep notes where a step begins and leaves the rest to the decoder.
func (p *parser) markStep(_ *jsontext.Decoder, s *Step) error {
	if p.steps++; p.steps > p.most.caseSteps {
		return boundError(fmt.Sprintf("a case of more than %d steps: split it", p.most.caseSteps))
	}
	s.offset = p.offset()
	return errors.ErrUnsupported
}

// refuseNull keeps null from standing for zero, which it does in encoding/json.
func refuseNull(dec *jsontext.Decoder, _ any) error {
	if dec.PeekKind() != 'n' {
		return errors.ErrUnsupported
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	return errNull
}

var errNull = errors.New("null says nothing: leave the key out")

// offset is where the next token begins.
func (p *parser) offset() int64 {
	p.dec.PeekKind()
	unread := p.dec.UnreadBuffer()
	between := len(unread) - len(bytes.TrimLeft(unread, " \t\r\n,:"))
	return p.dec.InputOffset() + int64(between)
}

// problem is a fault right here.
func (p *parser) problem(format string, args ...any) error {
	line, column := p.source.place(p.offset())
	return &FileError{File: p.source.name, Line: line, Column: column, Problem: fmt.Sprintf(format, args...)}
}
