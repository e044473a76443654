package replay

import (
	"bufio"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON reports for machines: one document, written as it becomes known, so that
// it takes no more memory than the text. Faults are in it and also go to faults.
//
//	{"schema":"reprise.replay/1",
//	 "files":[{"file":"standard.json",
//	   "cases":[{"case":1,"name":"...",
//	     "steps":[{"call":1,"step":1,"line":12,
//	               "class":"transient","rule":"...","clause":"R3.2",   // not of a success
//	               "outcome":"retry","quota":486,"delay_ms":50,
//	               "fill_rate":0.5,"measured_tx_rate":0,"admit_wait_ms":0,   // in adaptive mode
//	               "mismatches":[{"key":"quota","wanted":480,"got":486}]}],  // if any
//	     "error":"..."}],                                             // if the case ended early
//	   "totals":{"cases":1,"steps":1,"checked":1,"mismatched":1,"not_run":0,"errors":0},
//	   "error":"..."}],                                               // if the file ended early
//	 "totals":{...},"ok":false}
type JSON struct {
	out    *bufio.Writer
	enc    *jsontext.Encoder
	faults io.Writer
	err    error // the first one
}

// NewJSON returns a reporter that writes the document to out.
func NewJSON(out, faults io.Writer) *JSON {
	j := &JSON{out: bufio.NewWriter(out), faults: faults}
	j.enc = jsontext.NewEncoder(j.out, jsontext.AllowInvalidUTF8(true)) // file names may be anything
	j.token(jsontext.BeginObject)
	j.member("schema", "reprise.replay/1")
	j.name("files")
	j.token(jsontext.BeginArray)
	return j
}

type stepJSON struct {
	Call       int        `json:"call"`
	Step       int        `json:"step"`
	Line       int        `json:"line"`
	Class      string     `json:"class,omitempty"`
	Rule       string     `json:"rule,omitempty"`
	Clause     string     `json:"clause,omitempty"`
	Outcome    string     `json:"outcome"`
	Quota      int        `json:"quota"`
	DelayMS    float64    `json:"delay_ms"`
	FillRate   *float64   `json:"fill_rate,omitzero"`
	Measured   *float64   `json:"measured_tx_rate,omitzero"`
	AdmitWait  *float64   `json:"admit_wait_ms,omitzero"`
	Mismatches []Mismatch `json:"mismatches,omitempty"`
}

// BeginFile is of Reporter.
func (j *JSON) BeginFile(name string) {
	j.token(jsontext.BeginObject)
	j.member("file", name)
	j.name("cases")
	j.token(jsontext.BeginArray)
}

// BeginCase is of Reporter.
func (j *JSON) BeginCase(c *Case) {
	j.token(jsontext.BeginObject)
	j.member("case", c.number)
	j.member("name", c.Name)
	j.name("steps")
	j.token(jsontext.BeginArray)
}

// Step is of Reporter.
func (j *JSON) Step(_ *Case, r *Result) {
	s := stepJSON{
		Call: r.Call, Step: r.Step, Line: r.Line,
		Outcome: r.Outcome(), Quota: r.Quota, DelayMS: inMillis(r.Delay),
		Mismatches: r.Mismatches,
	}
	if !r.Success {
		s.Class, s.Rule, s.Clause = r.Class.String(), r.Rule.String(), r.Rule.Clause()
	}
	if l := r.Limiter; l != nil {
		s.FillRate, s.Measured, s.AdmitWait = &l.FillRate, &l.MeasuredRate, new(inMillis(l.AdmitWait))
	}
	j.value(s)
}

// EndCase is of Reporter.
func (j *JSON) EndCase(_ *Case, err error) {
	j.token(jsontext.EndArray)
	j.fault(err)
	j.token(jsontext.EndObject)
}

// EndFile is of Reporter.
func (j *JSON) EndFile(_ string, t Totals, err error) {
	j.token(jsontext.EndArray)
	j.member("totals", t)
	j.fault(err)
	j.token(jsontext.EndObject)
}

// Close is of Reporter.
func (j *JSON) Close(all Totals) error {
	j.token(jsontext.EndArray)
	j.member("totals", all)
	j.member("ok", all.Mismatched == 0 && all.Errors == 0)
	j.token(jsontext.EndObject)
	j.keep(j.out.Flush())
	return j.err
}

func (j *JSON) fault(err error) {
	if err != nil {
		j.member("error", err.Error())
		fmt.Fprintf(j.faults, "reprise: %v\n", err)
	}
}

func (j *JSON) token(t jsontext.Token) { j.keep(j.enc.WriteToken(t)) }

func (j *JSON) name(key string) { j.token(jsontext.String(key)) }

func (j *JSON) value(v any) { j.keep(json.MarshalEncode(j.enc, v)) }

func (j *JSON) member(key string, v any) {
	j.name(key)
	j.value(v)
}

// keep remembers the first error; after it the encoder writes nothing.
func (j *JSON) keep(err error) {
	if j.err == nil {
		j.err = err
	}
}
