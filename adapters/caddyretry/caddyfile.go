package caddyretry

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/dustin/go-humanize"
)

// UnmarshalCaddyfile reads the transport's block:
//
//	transport reprise {
//	    name            <text>
//	    mode            standard|adaptive|legacy
//	    service         <id>
//	    max_attempts    <number>
//	    attempt_timeout <duration> [<duration>...]
//	    timeout         <duration>
//	    body_limit      <size>
//	    any_method
//	    retry_mark
//	    hedge           <duration>
//	    standard_retry_after
//	    coalesce        <duration>
//	    max_upstreams   <number>
//	    quota {
//	        capacity        <tokens>
//	        transient_cost  <tokens>
//	        throttling_cost <tokens>
//	    }
//	    backoff {
//	        transient  <duration>
//	        throttling <duration>
//	        max        <duration>
//	    }
//	    classify transient|throttling|non_retryable <status|code|nxdomain>...
//
//	    # and all that Caddy's own transport takes, such as
//	    dial_timeout <duration>
//	    versions     <versions...>
//	}
//
// An error names file and line.
func (t *Transport) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	r := caddyfileReader{t: t, said: make(map[string]*caddyfile.Dispenser)}
	d.Next() // the transport's name
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		segment := d.NextSegment()
		own := caddyfile.NewDispenser(segment)
		own.Next()
		known, err := r.setting(own)
		if err != nil {
			return err
		}
		if !known {
			if err := r.t.HTTPTransport.UnmarshalCaddyfile(block(segment)); err != nil {
				return err
			}
		}
	}
	if f, wrong := t.check(); wrong {
		for key := f.key; key != ""; key = key[:max(strings.LastIndexByte(key, '.'), 0)] {
			if at := r.said[key]; at != nil {
				return at.WrapErr(f)
			}
		}
		return d.WrapErr(f)
	}
	return nil
}

// block is a segment as the only one in a transport's block, as Caddy's transport
// reads it.
func block(segment caddyfile.Segment) *caddyfile.Dispenser {
	first, last := segment[0], segment[len(segment)-1]
	tokens := []caddyfile.Token{{File: first.File, Line: first.Line, Text: "http"}, {File: first.File, Line: first.Line, Text: "{"}}
	tokens = append(tokens, segment...)
	tokens = append(tokens, caddyfile.Token{File: last.File, Line: last.Line + last.NumLineBreaks() + 1, Text: "}"})
	return caddyfile.NewDispenser(tokens)
}

// caddyfileReader reads the settings that are ours, and remembers where each was.
type caddyfileReader struct {
	t    *Transport
	said map[string]*caddyfile.Dispenser
}

// setting reads the setting that d is at, or reports that it is none of ours.
func (r *caddyfileReader) setting(d *caddyfile.Dispenser) (known bool, err error) {
	t, key := r.t, d.Val()
	read := map[string]func(d *caddyfile.Dispenser, key string) error{
		"name":                 textInto(&t.Name),
		"mode":                 textInto(&t.Mode),
		"service":              textInto(&t.Service),
		"max_attempts":         numberInto(&t.MaxAttempts),
		"attempt_timeout":      durationsInto(&t.AttemptTimeout),
		"timeout":              durationInto(&t.Timeout),
		"body_limit":           sizeInto(&t.BodyLimit),
		"any_method":           flagInto(&t.AnyMethod),
		"retry_mark":           flagInto(&t.RetryMark),
		"hedge":                durationInto(&t.Hedge),
		"standard_retry_after": flagInto(&t.StandardRetryAfter),
		"coalesce":             durationInto(&t.Coalesce),
		"max_upstreams":        numberInto(&t.MaxUpstreams),
		"quota":                r.quota,
		"backoff":              r.backoff,
		"classify":             r.classify,
	}[key]
	if read == nil {
		return false, nil
	}
	if r.said[key] != nil && key != "classify" {
		return true, d.Errf("%s is given twice: want it once", key)
	}
	r.said[key] = at(d)
	return true, read(d, key)
}

// at is where d is, for errors that show later.
func at(d *caddyfile.Dispenser) *caddyfile.Dispenser {
	here := caddyfile.NewDispenser([]caddyfile.Token{d.Token()})
	here.Next()
	return here
}

func (r *caddyfileReader) quota(d *caddyfile.Dispenser, key string) error {
	q := new(Quota)
	r.t.Quota = q
	return r.table(d, key, map[string]func(*caddyfile.Dispenser, string) error{
		"capacity":        tokensInto(&q.Capacity),
		"transient_cost":  tokensInto(&q.TransientCost),
		"throttling_cost": tokensInto(&q.ThrottlingCost),
	})
}

func (r *caddyfileReader) backoff(d *caddyfile.Dispenser, key string) error {
	b := new(Backoff)
	r.t.Backoff = b
	return r.table(d, key, map[string]func(*caddyfile.Dispenser, string) error{
		"transient":  durationInto(&b.Transient),
		"throttling": durationInto(&b.Throttling),
		"max":        durationInto(&b.Max),
	})
}

// table reads a block of settings.
func (r *caddyfileReader) table(d *caddyfile.Dispenser, key string, settings map[string]func(*caddyfile.Dispenser, string) error) error {
	if d.NextArg() {
		return d.ArgErr()
	}
	var known []string
	for name := range settings {
		known = append(known, name)
	}
	slices.Sort(known)
	empty := true
	for nesting := d.Nesting(); d.NextBlock(nesting); empty = false {
		name := d.Val()
		read := settings[name]
		path := key + "." + name
		switch {
		case read == nil:
			return d.Errf("%s is an unknown setting: want %s", path, strings.Join(known, ", "))
		case r.said[path] != nil:
			return d.Errf("%s is given twice: want it once", path)
		}
		r.said[path] = at(d)
		if err := read(d, path); err != nil {
			return err
		}
	}
	if empty {
		return d.Errf("%s is empty: want a block with %s", key, strings.Join(known, ", "))
	}
	return nil
}

func (r *caddyfileReader) classify(d *caddyfile.Dispenser, key string) error {
	args := d.RemainingArgs()
	if len(args) < 2 {
		return d.Errf("%s names too little: want a class (%s) and one or more statuses or codes", key, classForm)
	}
	class := args[0]
	if _, ok := parseClass(class); !ok {
		return d.Errf("%s names a class %q: want %s", key, short(class), classForm)
	}
	c := r.t.Classify
	if c == nil {
		c = &Classify{Statuses: make(map[int]string), Codes: make(map[string]string)}
		r.t.Classify = c
	}
	for _, word := range args[1:] {
		status, err := strconv.Atoi(word)
		switch {
		case word == "nxdomain":
			c.NXDomain = class
		case err != nil:
			c.Codes[word] = class
		case status < 100 || status > 599:
			return d.Errf("%s names the status %s: want 100 to 599", key, short(word))
		default:
			c.Statuses[status] = class
		}
	}
	if _, err := r.t.engineSettings().engine(nil); err != nil {
		if f := (&fault{}); errors.As(err, &f) && f.key == key {
			return d.WrapErr(f)
		}
	}
	return nil
}

// one returns the one argument of a setting.
func one(d *caddyfile.Dispenser, key, want string) (string, error) {
	args := d.RemainingArgs()
	if len(args) != 1 {
		return "", d.Errf("%s has %d values: want %s", key, len(args), want)
	}
	return args[0], nil
}

func textInto(to *string) func(*caddyfile.Dispenser, string) error {
	return func(d *caddyfile.Dispenser, key string) error {
		text, err := one(d, key, "one text")
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == "" {
			return d.Errf("%s is empty: want a text, or the setting left out", key)
		}
		*to = strings.TrimSpace(text)
		return nil
	}
}

func flagInto(to *bool) func(*caddyfile.Dispenser, string) error {
	return func(d *caddyfile.Dispenser, key string) error {
		if args := d.RemainingArgs(); len(args) > 0 {
			return d.Errf("%s has the value %q: want none, or the setting left out", key, short(args[0]))
		}
		*to = true
		return nil
	}
}

func wholeNumber(d *caddyfile.Dispenser, key string) (int, error) {
	text, err := one(d, key, "one whole number")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > math.MaxInt || n < math.MinInt {
		return 0, d.Errf("%s is %q: want a whole number", key, short(text))
	}
	return int(n), nil
}

func numberInto(to **int) func(*caddyfile.Dispenser, string) error {
	return func(d *caddyfile.Dispenser, key string) error {
		n, err := wholeNumber(d, key)
		*to = &n
		return err
	}
}

func tokensInto(to *int) func(*caddyfile.Dispenser, string) error {
	return func(d *caddyfile.Dispenser, key string) (err error) {
		*to, err = wholeNumber(d, key)
		return err
	}
}

const durationForm = "a duration such as 250ms, 10s or 1m30s"

func duration(d *caddyfile.Dispenser, key, text string) (caddy.Duration, error) {
	parsed, err := caddy.ParseDuration(text)
	if err != nil {
		return 0, d.Errf("%s is %q: want %s", key, short(text), durationForm)
	}
	return caddy.Duration(parsed), nil
}

func durationInto(to *caddy.Duration) func(*caddyfile.Dispenser, string) error {
	return func(d *caddyfile.Dispenser, key string) error {
		text, err := one(d, key, durationForm)
		if err != nil {
			return err
		}
		*to, err = duration(d, key, text)
		return err
	}
}

func durationsInto(to *[]caddy.Duration) func(*caddyfile.Dispenser, string) error {
	return func(d *caddyfile.Dispenser, key string) error {
		args := d.RemainingArgs()
		if len(args) == 0 {
			return d.Errf("%s has no value: want %s, or several of them", key, durationForm)
		}
		for _, text := range args {
			parsed, err := duration(d, key, text)
			if err != nil {
				return err
			}
			*to = append(*to, parsed)
		}
		return nil
	}
}

// sizeInto reads a number of bytes; as in Caddy's own settings 64KB is 64,000 and
// 64KiB 65,536.
func sizeInto(to **int) func(*caddyfile.Dispenser, string) error {
	return func(d *caddyfile.Dispenser, key string) error {
		text, err := one(d, key, "one size")
		if err != nil {
			return err
		}
		size, err := humanize.ParseBytes(text)
		if err != nil || size > math.MaxInt32 {
			return d.Errf("%s is %q: want a number of bytes below 2 GiB, such as 65536, 64KiB or 1MiB", key, short(text))
		}
		n := int(size)
		*to = &n
		return nil
	}
}

var _ caddyfile.Unmarshaler = (*Transport)(nil)
