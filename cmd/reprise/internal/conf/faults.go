package conf

import "strings"

// Faults is what is wrong with a file: an error for each key, and each says where.
type Faults []error

func (f Faults) Error() string { return f.joined("\n") }

// InOneLine is Error for a log.
func (f Faults) InOneLine() string { return f.joined("; ") }

func (f Faults) Unwrap() []error { return f }

func (f Faults) joined(by string) string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	return strings.Join(texts, by)
}
