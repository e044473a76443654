package conf

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parseYAML reads a document without anchors, aliases and tags: what aliases
// expand to has no bound.
func (k Kind) parseYAML(text []byte) (document, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return document{}, yamlError(err)
	}
	doc := document{lines: make(map[string]int), scalars: make(map[string]string)}
	var body ast.Node
	for _, d := range file.Docs {
		if d.Body == nil || d.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return document{}, &lineError{lineOf(d.Body), errors.New("a second document begins: want one")}
		}
		body = d.Body
	}
	if body == nil {
		return document{}, errEmpty
	}
	if err := doc.walkYAML(body, ""); err != nil {
		var at *lineError
		if errors.As(err, &at) && at.err == errAlias && k.Share != "" {
			at.err = fmt.Errorf("%w, or %s", errAlias, k.Share)
		}
		return document{}, err
	}
	if _, ok := body.(ast.MapNode); !ok {
		return document{}, &lineError{lineOf(body), fmt.Errorf("want keys such as %s at the top", k.Key)}
	}
	if err := yaml.NodeToValue(body, &doc.root); err != nil {
		return document{}, yamlError(err)
	}
	return doc, nil
}

var errAlias = errors.New("anchors, aliases and tags are not served: want the value")

// walkYAML notes the lines of keys, and values as they are written, and refuses what is not served.
func (d *document) walkYAML(n ast.Node, path string) error {
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, pair := range n.Values {
			if err := d.walkYAML(pair, path); err != nil {
				return err
			}
		}
	case *ast.MappingValueNode:
		if _, plain := n.Key.(*ast.StringNode); !plain {
			return &lineError{lineOf(n.Key), errors.New("want a key of letters; merge keys, tags and others are not served")}
		}
		at := join(path, n.Key.GetToken().Value)
		d.lines[at] = lineOf(n.Key)
		return d.walkYAML(n.Value, at)
	case *ast.SequenceNode:
		for i, value := range n.Values {
			at := item(path, i)
			d.lines[at] = lineOf(value)
			if err := d.walkYAML(value, at); err != nil {
				return err
			}
		}
	case *ast.StringNode:
		if n.Token.Type == token.StringType {
			d.scalars[path] = n.Token.Value
		}
	case *ast.IntegerNode:
		d.scalars[path] = n.Token.Value
	case *ast.FloatNode:
		d.scalars[path] = n.Token.Value
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return &lineError{lineOf(n), errAlias}
	}
	return nil
}

func lineOf(n ast.Node) int {
	if at := n.GetToken(); at != nil && at.Position != nil {
		return at.Position.Line
	}
	return 0
}

// yamlError takes the message and the line out of what the library says.
func yamlError(err error) error {
	var at yaml.Error
	if !errors.As(err, &at) {
		return fmt.Errorf("is not YAML: %w", err)
	}
	line := 0
	if token := at.GetToken(); token != nil && token.Position != nil {
		line = token.Position.Line
	}
	message := at.GetMessage()
	if strings.Contains(message, "'\t'") {
		message = "begins with a tab: want spaces"
	}
	return &lineError{line, fmt.Errorf("is not YAML: %s", message)}
}
