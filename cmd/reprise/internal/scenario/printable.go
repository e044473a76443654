package scenario

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable writes what a terminal would obey, or not show, as an escape: names
// that a user or a file chose are shown as they are in one line of an error.
func Printable(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }
