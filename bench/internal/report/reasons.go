package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Reasons say why a row loses or a goal is missed. A line of the file is
//
//	path impl procs: reason
//	goal ratio procs: reason
//
// where procs is a number or *, and # begins a comment.
type Reasons map[string]string

// ReadReasons reads the file.
func ReadReasons(r io.Reader, name string) (Reasons, error) {
	all := make(Reasons)
	lines := bufio.NewScanner(r)
	for at := 1; lines.Scan(); at++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, reason, ok := strings.Cut(line, ":")
		fields := strings.Fields(key)
		if reason = strings.TrimSpace(reason); !ok || len(fields) != 3 || reason == "" {
			return nil, fmt.Errorf("reprise/bench: %s:%d: %q is no reason: want \"path impl procs: reason\"", name, at, line)
		}
		if _, err := strconv.Atoi(fields[2]); err != nil && fields[2] != "*" {
			return nil, fmt.Errorf("reprise/bench: %s:%d: procs %q: want a number or *", name, at, fields[2])
		}
		all[strings.Join(fields, " ")] = reason
	}
	return all, lines.Err()
}

func (r Reasons) of(what, which string, procs int) (string, bool) {
	if reason, ok := r[fmt.Sprintf("%s %s %d", what, which, procs)]; ok {
		return reason, true
	}
	reason, ok := r[fmt.Sprintf("%s %s *", what, which)]
	return reason, ok
}
