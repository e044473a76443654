// Command jsoncheck reads one JSON document and fails unless every claim about its numbers holds.
//
//	jsoncheck FILE CLAIM...
//
// A claim is LEFT=RIGHT, LEFT<RIGHT or LEFT>RIGHT; each side is a number or the dotted path of one ("quota.lowest").
// A path that leads to no number is a failure, never a zero: a renamed key must not pass for a small one.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "jsoncheck: usage: jsoncheck FILE CLAIM...")
		os.Exit(2)
	}
	data, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = check(data, os.Args[2:])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "jsoncheck: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	fmt.Printf("%s: %s\n", os.Args[1], strings.Join(os.Args[2:], ", "))
}

// check returns one error that names every claim that does not hold.
func check(data []byte, claims []string) error {
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return fmt.Errorf("not one JSON document: %w", err)
	}
	var errs []error
	for _, claim := range claims {
		errs = append(errs, hold(doc, claim))
	}
	return errors.Join(errs...)
}

func hold(doc any, claim string) error {
	i := strings.IndexAny(claim, "=<>")
	if i < 0 {
		return fmt.Errorf("claim %q has none of = < >", claim)
	}
	left, err := number(doc, claim[:i])
	if err != nil {
		return err
	}
	right, err := number(doc, claim[i+1:])
	if err != nil {
		return err
	}
	if holds := map[byte]bool{'=': left == right, '<': left < right, '>': left > right}; !holds[claim[i]] {
		return fmt.Errorf("%s does not hold: %v, %v", claim, left, right)
	}
	return nil
}

// number is the value of a literal, or of the number at a dotted path of doc.
func number(doc any, word string) (float64, error) {
	if n, err := strconv.ParseFloat(word, 64); err == nil {
		return n, nil
	}
	at := doc
	for key := range strings.SplitSeq(word, ".") {
		object, _ := at.(map[string]any)
		at = object[key]
	}
	n, ok := at.(float64)
	if !ok {
		return 0, fmt.Errorf("%q leads to no number, but to %v", word, at)
	}
	return n, nil
}
