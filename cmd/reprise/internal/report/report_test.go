package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample is a result with every field set.
func sample() record.Result {
	res := record.Result{
		Schema:  record.Schema,
		Started: "2026-11-30T12:00:00Z",
		Machine: record.Machine{Go: "go1.26", OS: "linux", Arch: "amd64", CPUs: 2},
		Setup: record.Setup{
			Target: "http://127.0.0.1:1/", Embedded: true, Mode: "standard", Service: "dynamodb", MaxAttempts: 4,
			DurationMS: 1000, Workers: 8, RatePerSec: 2000, DeadlineMS: 2000, AttemptTimeoutMS: 500,
			Faults: "500=2%", Outage: "30%+20%+20%", Seed: 1,
		},
		ElapsedMS: 1200, CallingMS: 1000,
		Calls: 1234567, Successes: 1234566, FirstTry: 1200000, Recovered: 34566, SuccessRate: 1234566.0 / 1234567,
		CallsPerSec: 2000, Attempts: 1300000, PerCall: 1.053, Answered: 1290000,
		Retries:      record.Retries{Total: 65433, Transient: 60000, Throttling: 5433, Unsent: 2},
		Stops:        record.Stops{Total: 1, ByReason: map[string]uint64{}},
		LastError:    new("read tcp 127.0.0.1:41000->127.0.0.1:1: read: connection reset by peer"),
		Added:        record.Latency{P50: 0.008, P99: 95.2, P999: 1234.5, Max: 61000},
		AddedRetried: record.Latency{P50: 51.7, P99: 812, P999: 1900, Max: 61000},
		Quota:        record.Quota{Enabled: true, Capacity: 500, Lowest: 3, Last: 500, DrainedAfterMS: new(20.0), FullAgainAfterMS: new(310.0)},
		Allocs: record.Allocs{
			PerCall: 130.2, BytesPerCall: 13000, PlainClient: new(84.4), ThroughReprise: new(84.5), AddedByReprise: new(0.1), AddedByTimeout: new(11.0), BaselineSamples: 1000,
		},
		Phases: []record.Phase{
			{Name: "before", EndMS: 300, Calls: 600, Successes: 600, SuccessRate: 1, Attempts: 620, PerCall: 1.033, LowestQuota: 480},
			{Name: "outage", StartMS: 300, EndMS: 500, Calls: 400, Attempts: 435, PerCall: 1.087, LowestQuota: 3},
			{Name: "recovery", StartMS: 500, EndMS: 700, Calls: 400, Successes: 200, SuccessRate: 0.5, Attempts: 420, PerCall: 1.05, LowestQuota: 4},
			{Name: "after", StartMS: 700, EndMS: 1000, Calls: 600, Successes: 600, SuccessRate: 1, Attempts: 610, PerCall: 1.017, LowestQuota: 60},
		},
		Throttled:   5433,
		Server:      &record.Server{Hits: 1300000, Faults: map[string]uint64{"ok": 1, "500": 2}},
		PhaseStarts: map[faulty.Phase]time.Duration{},
	}
	for _, reason := range record.Reasons {
		res.Stops.ByReason[reason.String()] = 0
	}
	res.Stops.ByReason["quota"] = 1
	res.Course.SlotLength = 10 * time.Millisecond
	for i := range 120 {
		res.Course.Slots = append(res.Course.Slots, record.Slot{
			Succeeded: uint64(20 - i%3), Stopped: uint64(i % 3), Transient: uint64(i % 5), Throttling: uint64(i % 2),
			Lowest: 480, Highest: 500, Last: 490, Samples: i % 7, // now and then the sampler was late
		})
	}
	return res
}

// limited is sample in adaptive mode against a server with a capacity.
func limited() record.Result {
	res := sample()
	res.Setup.Mode, res.Setup.CoalesceMS, res.Setup.CapacityPerSec, res.Setup.LatencyMS = "adaptive", 100, 1500, 20
	res.Capacity = &record.Capacity{PerSecond: 1500, Burst: 1500, Answered: 1294567, Throttled: 5433, ShareUsed: 0.912}
	res.Limiter = &record.Limiter{
		Enabled: true, FillRate: 1432.4, MeasuredRate: 1399, Capacity: 1432.4, Level: 0.5, Waiting: 3, SinceThrottleMS: new(412.0),
		CallsEndedWaiting: 17, CallsNeverSent: 12, AdmissionWait: record.Latency{P50: 0.02, P99: 812, P999: 1900, Max: 2990},
	}
	for i := range res.Course.Slots {
		slot := &res.Course.Slots[i]
		slot.Offered, slot.Sent, slot.Throttled = uint64(20+i%3), uint64(14+i%4), uint64(i%11/10)
		if i > 20 && slot.Samples > 0 {
			slot.FillRate, slot.MeasuredRate = 1000+float64(i), 1300
		}
	}
	return res
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "if this change is meant: go test ./internal/report -update")
}

func TestTable(t *testing.T) {
	plain := Table(sample(), false)
	golden(t, "table.txt", plain)
	adaptive := Table(limited(), false)
	golden(t, "table_adaptive.txt", adaptive)
	assert.NotContains(t, plain, "\x1b", "no escape sequences when piped")
	assert.Contains(t, Table(sample(), true), "\x1b[1m")
	for line := range strings.Lines(plain + adaptive) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSpace(line)), 80, line)
	}

	rushed := sample()
	rushed.Allocs = record.Allocs{PerCall: 60}
	rushed.LastError = new(strings.Repeat("long", 50))
	plain = Table(rushed, false)
	assert.Equal(t, 2, strings.Count(plain, "not measured"))
	for line := range strings.Lines(plain) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSpace(line)), 80, line)
	}

	res := sample()
	res.Interrupted = true
	assert.True(t, strings.HasPrefix(Table(res, false), "interrupted:"))

	legacy := sample()
	legacy.Quota.Enabled = false
	assert.Contains(t, Table(legacy, false), "legacy mode retries without one")

	calm := limited()
	calm.Limiter = &record.Limiter{}
	assert.Contains(t, Table(calm, false), "nothing was throttled or held back")
}

// The keys of the JSON are promised: see README.md.
func TestJSONKeys(t *testing.T) {
	text, err := JSON(limited())
	require.NoError(t, err)
	var decoded map[string]any
	require.NoError(t, json.Unmarshal(text, &decoded))
	keys := paths("", decoded)
	slices.Sort(keys)
	golden(t, "keys.txt", strings.Join(keys, "\n")+"\n")

	doc, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for _, key := range append(keys, "limiter", "capacity") {
		last := key[strings.LastIndexAny(key, ".]")+1:]
		assert.Contains(t, string(doc), "`"+last+"`", "README.md describes %s", key)
	}

	empty, err := JSON(record.Result{})
	require.NoError(t, err, "an empty run has no NaN")
	assert.True(t, json.Valid(empty))
}

func paths(prefix string, value any) (out []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			out = append(out, paths(prefix+"."+name, inner)...)
		}
	case []any:
		if len(v) > 0 {
			return paths(prefix+"[]", v[0])
		}
	default:
		out = append(out, strings.TrimPrefix(prefix, "."))
	}
	return out
}

func TestPageIsSelfContainedAndWellFormed(t *testing.T) {
	for name, change := range map[string]func(*record.Result){
		"whole":       func(*record.Result) {},
		"adaptive":    func(r *record.Result) { *r = limited() },
		"capacity":    func(r *record.Result) { *r = limited(); r.Limiter = nil },
		"calm":        func(r *record.Result) { r.Limiter = new(record.Limiter) },
		"interrupted": func(r *record.Result) { r.Interrupted = true },
		"no quota":    func(r *record.Result) { r.Quota = record.Quota{} },
		"no calls":    func(r *record.Result) { *r = record.Result{Schema: record.Schema} },
		"one slot":    func(r *record.Result) { r.Course.Slots, r.CallingMS = r.Course.Slots[:1], 0.2 },
		"own target":  func(r *record.Result) { r.Setup.Embedded = false; r.Server = nil; r.Setup.Target = `<script>&"` },
	} {
		t.Run(name, func(t *testing.T) {
			res := sample()
			change(&res)
			page, err := HTML(res)
			require.NoError(t, err)
			text := string(page)
			for _, reference := range []string{"http:", "https:", "//", "src=", "href=", "@import", "url(", "<script", "<link", "NaN", "Inf"} {
				assert.NotContains(t, text, reference)
			}
			assertWellFormed(t, text)
			assert.Contains(t, text, "</html>")
			if name == "whole" {
				assert.Equal(t, 6, strings.Count(text, "<svg "), "three charts, each for a wide page and for a phone")
				assert.Contains(t, text, "outage</text>")
				assert.NotContains(t, text, "Send rate")
			}
			if name == "adaptive" {
				assert.Equal(t, 8, strings.Count(text, "<svg "), "and a chart of what was sent")
				for _, want := range []string{"Send rate", "offered", "fill rate", "1,432"} {
					assert.Contains(t, text, want)
				}
			}
			assert.Less(t, len(text), 300<<10)
		})
	}
}

func assertWellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, token.Name.Local)
		case xml.EndElement:
			require.NotEmpty(t, open)
			require.Equal(t, open[len(open)-1], token.Name.Local)
			open = open[:len(open)-1]
		}
	}
	assert.Empty(t, open)
}

func TestNumbersForReaders(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, count(n))
	}
	for share, want := range map[float64]string{0: "0.00%", 0.5: "50.00%", 1: "100.00%", 0.999999: "> 99.99%"} {
		assert.Equal(t, want, percent(share))
	}
	for ms, want := range map[float64]string{0: "0 µs", 0.0075: "7 µs", 1.25: "1.2 ms", 51.7: "52 ms", 999: "999 ms", 1234: "1.23 s", 61000: "1m1s"} {
		assert.Equal(t, want, duration(ms))
	}
}
