package conf

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
)

// mostFaults is how many are told of one file.
const mostFaults = 10

// reader notes what is wrong with a file.
type reader struct {
	kind Kind
	name string
	document
	faults []error
}

// fault notes what is wrong at a path. Without a line of its own it has that of
// the table it is in.
func (r *reader) fault(path, format string, args ...any) {
	if len(r.faults) == mostFaults {
		r.faults = append(r.faults, fmt.Errorf("%s %s: and more", r.kind.Name, r.name))
	}
	if len(r.faults) > mostFaults {
		return
	}
	at := path
	for r.lines[at] == 0 && at != "" {
		at = at[:max(strings.LastIndexAny(at, ".["), 0)]
	}
	where := r.name
	if line := r.lines[at]; line > 0 {
		where = fmt.Sprintf("%s:%d", r.name, line)
	}
	r.faults = append(r.faults, fmt.Errorf("%s %s: %s", r.kind.Name, where, strings.TrimSpace(path+" "+fmt.Sprintf(format, args...))))
}

// Table is one table of the file. Its methods read a key, if it is there, and
// remember it, so that Done can tell the unknown ones. What they find wrong is a
// fault of the file.
type Table struct {
	r     *reader
	path  string
	keys  map[string]any
	known []string
	wrong []string // keys whose values were faults
}

// value returns what is under a key, and whether there is anything.
func (t *Table) value(key string) (any, bool) {
	if !slices.Contains(t.known, key) {
		t.known = append(t.known, key)
	}
	v, ok := t.keys[key]
	if ok && v == nil {
		t.Fault(key, "has no value: want one, or the key left out")
		return nil, false
	}
	return v, ok
}

// Fault notes what is wrong with the value of a key.
func (t *Table) Fault(key, format string, args ...any) {
	t.wrong = append(t.wrong, key)
	t.r.fault(join(t.path, key), format, args...)
}

// Wrong reports whether a fault of a key has been noted.
func (t *Table) Wrong(key string) bool { return slices.Contains(t.wrong, key) }

// FaultAt notes what is wrong with one element of the list under a key.
func (t *Table) FaultAt(key string, i int, format string, args ...any) {
	t.r.fault(item(join(t.path, key), i), format, args...)
}

// FaultHere notes what is wrong with the table as a whole.
func (t *Table) FaultHere(format string, args ...any) { t.r.fault(t.path, format, args...) }

// Path is where the table is, such as upstreams[0]; "" is the file itself.
func (t *Table) Path() string { return t.path }

// Faults is how many there are in the file so far.
func (t *Table) Faults() int { return len(t.r.faults) }

// Has reports whether a key is there.
func (t *Table) Has(key string) bool { _, ok := t.keys[key]; return ok }

// Read reads a key that parse knows how to read, ErrKind of which means a value of
// another kind than wanted.
func Read[T any](t *Table, key, want string, to *T, parse func(any) (T, error)) {
	v, ok := t.value(key)
	if !ok {
		return
	}
	parsed, err := parse(v)
	if _, text := v.(string); err == nil && !text {
		err = ambiguous(t.scalar(key))
	}
	switch {
	case errors.Is(err, ErrKind):
		if u, ok := errors.AsType[*unlike](err); ok {
			want += u.instead
		}
		t.Fault(key, "is %s: want %s", kindOf(v), want)
	case err != nil:
		t.Fault(key, "is wrong: %v", err)
	default:
		*to = parsed
	}
}

// ErrKind is a value of another kind than wanted.
var ErrKind = errors.New("wrong kind")

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "empty"
	case string:
		return fmt.Sprintf("the text %q", scenario.Shorten(v))
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	case time.Time:
		return "a date"
	}
	return scenario.Shorten(fmt.Sprint(v))
}

// AsText reads a text that is not empty.
func AsText(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", ErrKind
	}
	if strings.TrimSpace(s) == "" {
		return "", errors.New("it is empty: want a text, or the key left out")
	}
	return strings.TrimSpace(s), nil
}

// AsWhole reads a whole number.
func AsWhole(v any) (int, error) {
	switch v := v.(type) {
	case int64:
		return int(v), nil
	case uint64:
		if v <= math.MaxInt64 {
			return int(v), nil
		}
	case int:
		return v, nil
	}
	return 0, ErrKind
}

// Text reads a text that is not empty.
func (t *Table) Text(key string, to *string) { Read(t, key, "a text", to, AsText) }

// Whole reads a whole number.
func (t *Table) Whole(key string, to *int) {
	as := t.scalar(key)
	Read(t, key, "a whole number", to, func(v any) (int, error) { return asWhole(v, as) })
}

// Truth reads true or false.
func (t *Table) Truth(key string, to *bool) {
	Read(t, key, "true or false", to, func(v any) (bool, error) {
		b, ok := v.(bool)
		if !ok {
			return false, ErrKind
		}
		return b, nil
	})
}

// Duration reads a duration.
func (t *Table) Duration(key string, to *time.Duration) {
	Read(t, key, durationForm, to, AsDuration)
}

// Number reads a number, whole or not.
func (t *Table) Number(key string, to *float64) {
	as := t.scalar(key)
	Read(t, key, "a number", to, func(v any) (float64, error) { return asNumber(v, as) })
}

const durationForm = "a duration such as 250ms, 10s or 1m30s"

// AsDuration reads a duration.
func AsDuration(v any) (time.Duration, error) {
	s, ok := v.(string)
	if !ok {
		return 0, unlikeDuration(v)
	}
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil {
		return 0, fmt.Errorf("%q: want %s%s", scenario.Shorten(s), durationForm, durationInstead(s))
	}
	return d, nil
}

// Durations is a list of durations, or one for a list of one.
func (t *Table) Durations(key string, to *[]time.Duration) {
	Read(t, key, durationForm+", or a list of them", to, func(v any) ([]time.Duration, error) { return asList(v, durationForm, AsDuration) })
}

func asList[T any](v any, want string, one func(any) (T, error)) (all []T, err error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for i, v := range list {
		t, err := one(v)
		if ok && errors.Is(err, ErrKind) {
			instead := ""
			if u, ok := errors.AsType[*unlike](err); ok {
				instead = u.instead
			}
			err = fmt.Errorf("number %d of the list is %s: want %s%s", i+1, kindOf(v), want, instead)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// Texts is a list of texts, or one text for a list of one.
func (t *Table) Texts(key string, to *[]string) {
	Read(t, key, "a text or a list of texts", to, func(v any) ([]string, error) { return asList(v, "a text", AsText) })
}

// Table is the table under a key; one that is not there reads as an empty one.
func (t *Table) Table(key string) *Table {
	sub := &Table{r: t.r, path: join(t.path, key)}
	Read(t, key, "a table", &sub.keys, asTable)
	return sub
}

func asTable(v any) (map[string]any, error) {
	keys, ok := v.(map[string]any)
	if !ok {
		return nil, ErrKind
	}
	return keys, nil
}

// Tables is the list of tables under a key.
func (t *Table) Tables(key string) (subs []*Table) {
	v, ok := t.value(key)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		t.Fault(key, "is %s: want a list of tables", kindOf(v))
	}
	for i, v := range list {
		path := item(join(t.path, key), i)
		keys, err := asTable(v)
		if err != nil {
			t.r.fault(path, "is %s: want a table", kindOf(v))
			continue
		}
		subs = append(subs, &Table{r: t.r, path: path, keys: keys})
	}
	return subs
}

// Done notes the keys that nobody has asked for.
func (t *Table) Done() {
	var unknown []string
	for key := range t.keys {
		if !slices.Contains(t.known, key) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	for _, key := range unknown {
		t.r.fault(join(t.path, scenario.Shorten(key)), "is an unknown key: %swant %s", scenario.DidYouMean(key, t.known), strings.Join(t.known, ", "))
	}
}
