package proxyconf

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

// reader turns tables into a Config and notes what is wrong on the way.
type reader struct {
	name   string
	lines  map[string]int // by path
	faults []error
}

// fault notes what is wrong at a path. Without a line of its own it has that of
// the table it is in.
func (r *reader) fault(path, format string, args ...any) {
	if len(r.faults) == mostFaults {
		r.faults = append(r.faults, fmt.Errorf("config %s: and more", r.name))
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
	r.faults = append(r.faults, fmt.Errorf("config %s: %s", where, strings.TrimSpace(path+" "+fmt.Sprintf(format, args...))))
}

// table is one table of the file. Its methods read a key, if it is there, and
// remember it, so that done can tell the unknown ones.
type table struct {
	r     *reader
	path  string
	keys  map[string]any
	known []string
}

// value returns what is under a key, and whether there is anything.
func (t *table) value(key string) (any, bool) {
	t.known = append(t.known, key)
	v, ok := t.keys[key]
	if ok && v == nil {
		t.fault(key, "has no value: want one, or the key left out")
		return nil, false
	}
	return v, ok
}

func (t *table) fault(key, format string, args ...any) {
	t.r.fault(join(t.path, key), format, args...)
}

// has reports whether a key is there.
func (t *table) has(key string) bool { _, ok := t.keys[key]; return ok }

func read[T any](t *table, key, want string, to *T, parse func(any) (T, error)) {
	v, ok := t.value(key)
	if !ok {
		return
	}
	parsed, err := parse(v)
	switch {
	case errors.Is(err, errKind):
		t.fault(key, "is %s: want %s", kindOf(v), want)
	case err != nil:
		t.fault(key, "is wrong: %v", err)
	default:
		*to = parsed
	}
}

// errKind is a value of another kind than wanted.
var errKind = errors.New("wrong kind")

func kindOf(v any) string {
	switch v := v.(type) {
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

func asText(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", errKind
	}
	if strings.TrimSpace(s) == "" {
		return "", errors.New("it is empty: want a text, or the key left out")
	}
	return strings.TrimSpace(s), nil
}

func asWhole(v any) (int, error) {
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
	return 0, errKind
}

func (t *table) text(key string, to *string) { read(t, key, "a text", to, asText) }

func (t *table) whole(key string, to *int) { read(t, key, "a whole number", to, asWhole) }

func (t *table) truth(key string, to *bool) {
	read(t, key, "true or false", to, func(v any) (bool, error) {
		b, ok := v.(bool)
		if !ok {
			return false, errKind
		}
		return b, nil
	})
}

func (t *table) duration(key string, to *time.Duration) {
	read(t, key, durationForm, to, asDuration)
}

const durationForm = "a duration such as 250ms, 10s or 1m30s"

func asDuration(v any) (time.Duration, error) {
	s, ok := v.(string)
	if !ok {
		return 0, errKind
	}
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil {
		return 0, fmt.Errorf("%q: want %s", scenario.Shorten(s), durationForm)
	}
	return d, nil
}

// durations is a list of durations, or one for a list of one.
func (t *table) durations(key string, to *[]time.Duration) {
	read(t, key, durationForm+", or a list of them", to, func(v any) ([]time.Duration, error) { return asList(v, asDuration) })
}

func asList[T any](v any, one func(any) (T, error)) (all []T, err error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, v := range list {
		t, err := one(v)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func (t *table) size(key string, to *int) {
	read(t, key, "a number of bytes such as 65536 or 64KiB", to, func(v any) (int, error) {
		if n, err := asWhole(v); err == nil {
			return n, nil
		}
		s, ok := v.(string)
		if !ok {
			return 0, errKind
		}
		n, err := ParseBytes(s)
		return int(n), err
	})
}

// texts is a list of texts, or one text for a list of one.
func (t *table) texts(key string, to *[]string) {
	read(t, key, "a text or a list of texts", to, func(v any) ([]string, error) { return asList(v, asText) })
}

// table is the table under a key; one that is not there reads as an empty one.
func (t *table) table(key string) *table {
	sub := &table{r: t.r, path: join(t.path, key)}
	read(t, key, "a table", &sub.keys, asTable)
	return sub
}

func asTable(v any) (map[string]any, error) {
	keys, ok := v.(map[string]any)
	if !ok {
		return nil, errKind
	}
	return keys, nil
}

// tables is the list of tables under a key.
func (t *table) tables(key string) (subs []*table) {
	v, ok := t.value(key)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		t.fault(key, "is %s: want a list of tables", kindOf(v))
	}
	for i, v := range list {
		path := item(join(t.path, key), i)
		keys, err := asTable(v)
		if err != nil {
			t.r.fault(path, "is %s: want a table", kindOf(v))
			continue
		}
		subs = append(subs, &table{r: t.r, path: path, keys: keys})
	}
	return subs
}

// done notes the keys that nobody has asked for.
func (t *table) done() {
	var unknown []string
	for key := range t.keys {
		if !slices.Contains(t.known, key) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	for _, key := range unknown {
		t.r.fault(join(t.path, scenario.Shorten(key)), "is an unknown key: %swant %s", t.meant(key), strings.Join(t.known, ", "))
	}
}

// meant asks whether a known key was meant.
func (t *table) meant(key string) string {
	plain := strings.NewReplacer("-", "", "_", "")
	for _, known := range t.known {
		if scenario.Distance(plain.Replace(strings.ToLower(key)), plain.Replace(known)) <= 2 {
			return fmt.Sprintf("did you mean %s? ", known)
		}
	}
	return ""
}
