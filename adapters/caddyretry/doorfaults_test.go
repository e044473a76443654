package caddyretry_test

import (
	"strings"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

const (
	json = "application/json"
	none = engine.ReasonRetry // why a call that succeeded ended
)

func transient(delay time.Duration) retry  { return retry{classify.Transient, delay, 14} }
func throttling(delay time.Duration) retry { return retry{classify.Throttling, delay, 5} }

// faults is the table. All delays are the ceilings of R4.2, less the next to
// nothing that a draw below 1 takes off.
func faults() []fault {
	ok := say(200, "hello")
	first, second, slow, slower := 50*ms-near, 100*ms-near, time.Second-near, 2*time.Second-near
	recovers := func(name string, s script, r retry) fault {
		return fault{name: name, script: []script{s, ok}, retries: []retry{r}, stop: none, left: 500, hits: 2}
	}
	final := func(name string, s script) fault {
		return fault{name: name, script: []script{s}, stop: engine.ReasonNonRetryable, left: 500, hits: 1}
	}
	success := func(name string, s script) fault {
		return fault{name: name, script: []script{s}, stop: none, left: 500, hits: 1}
	}
	hint := func(name, value string, delay time.Duration) fault {
		return recovers("x-amz-retry-after "+name, say(503, "", "x-amz-retry-after", value), transient(delay))
	}
	with := func(f fault, change func(*fault)) fault {
		change(&f)
		return f
	}
	but := func(f fault, why string, doors ...string) fault {
		f.differs = make(map[string]string)
		for _, d := range doors {
			f.differs[d] = why
		}
		return f
	}
	standard := func(name, value string, delay time.Duration) fault {
		return with(recovers("Retry-After "+name, say(503, "", "Retry-After", value), transient(delay)), func(f *fault) { f.retryIn = true })
	}
	const throttled = `{"__type":"com.amazonaws.x#ThrottlingException","message":"slow"}`
	const head = "HTTP/1.1 200 OK\r\n"
	const caller = "a success's body is the caller's to read"
	const again = "its op must be safe to call again"
	return []fault{
		success("nothing", ok),
		success("121: 103, then 200", raw("HTTP/1.1 103 Early Hints\r\n\r\n"+head+"Content-Length: 5\r\n\r\nhello", true)),
		success("no length at all", raw(head+"\r\nhello", false)),
		success("Connection: close", raw(head+"Content-Length: 5\r\nConnection: close\r\n\r\nhello", false)),
		recovers("500", say(500, ""), transient(first)),
		recovers("502", say(502, ""), transient(first)),
		recovers("503", say(503, ""), transient(first)),
		recovers("504", say(504, ""), transient(first)),
		recovers("62: 429", say(429, ""), throttling(slow)),
		recovers("77: 400 with a throttling code in JSON", say(400, throttled, "Content-Type", json), throttling(slow)),
		recovers("77: 400 with a throttling code in XML", say(400, "<Error><Code>SlowDown</Code></Error>", "Content-Type", "text/xml"), throttling(slow)),
		recovers("77: 400 with a throttling code in a header", say(400, "", "X-Amzn-Errortype", "SlowDown:http://x/"), throttling(slow)),
		recovers("400 with a transient code", say(400, `{"code":"RequestTimeout"}`, "Content-Type", json), transient(first)),
		recovers("503 with a throttling code", say(503, throttled, "Content-Type", json), throttling(slow)),
		final("400", say(400, "no")),
		final("400 with an unknown code", say(400, `{"code":"Odd"}`, "Content-Type", json)),
		final("a code in prose does not count", say(400, throttled, "Content-Type", "text/plain; charset=utf-8")),
		final("a code in a compressed body does not count", say(400, throttled, "Content-Type", json, "Content-Encoding", "br")),
		final("404", say(404, "")),
		final("501", say(501, "")),
		final("505", say(505, "")),
		final("112: 413 with a hint", say(413, "", "x-amz-retry-after", "1500")),

		recovers("67: reset before the answer", reset, transient(first)),
		recovers("closed before the answer", hangUp, transient(first)),
		recovers("the head cut between its lines", raw(head+"Content-Length: 5\r\n", false), transient(first)),
		recovers("103 and no more", raw("HTTP/1.1 103 Early Hints\r\n\r\n", false), transient(first)),
		but(recovers("74: half a body, then cut", raw(head+"Content-Length: 10\r\n\r\nhello", false), transient(first)), caller, "net/http", "Caddy"),
		recovers("half the body of a 503, then cut", raw("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 10\r\n\r\nhello", false), transient(first)),
		final("not HTTP at all", raw("SSH-2.0-x\r\n\r\n", false)),
		final("two lengths", raw(head+"Content-Length: 5\r\nContent-Length: 7\r\n\r\nhello", false)),
		{name: "67: a refused dial", retries: []retry{transient(first), transient(second)}, stop: engine.ReasonMaxAttempts, class: classify.Transient, left: 472},

		with(recovers("95: an attempt that takes too long", silence, transient(first)), func(f *fault) { f.attempt = 250 * ms }),
		{name: "the call's deadline in an attempt", script: []script{silence}, bound: 250 * ms, stop: engine.ReasonDeadline, class: classify.Transient, left: 500, hits: 1},
		{name: "88, 91: a delay beyond the deadline", script: []script{say(429, "", "x-amz-retry-after", "86400000")}, bound: 5 * time.Second,
			stop: engine.ReasonDeadline, class: classify.Throttling, left: 500, hits: 1},
		{name: "4, 92: cancelled in the wait", script: []script{say(503, "")}, hang: true, retries: []retry{transient(first)},
			stop: engine.ReasonCancelled, class: classify.Transient, left: 500, hits: 1},

		hint("0", "0", first),
		hint("1500", "1500", 1500*ms),
		hint("106: -1", "-1", first),
		hint("106: 1.5", "1.5", first),
		hint("106: soon", "soon", first),
		hint("110: four years", "126230400000", first+5*time.Second),
		hint("107: too large for any integer", strings.Repeat("9", 400), first+5*time.Second),
		with(standard("is an option", "2", first), func(f *fault) { f.retryIn = false }),
		standard("2", "2", 2*time.Second),
		standard("-1", "-1", first),
		standard("110: four years", "126230400", first+5*time.Second),

		{name: "an empty quota", script: []script{say(500, "")}, tokens: 13, stop: engine.ReasonQuota, class: classify.Transient, left: 13, hits: 1},
		{name: "attempts used up", script: []script{say(500, "")}, retries: []retry{transient(first), transient(second)},
			stop: engine.ReasonMaxAttempts, class: classify.Transient, left: 472, hits: 3},
		{name: "attempts used up by throttling", script: []script{say(429, "")}, retries: []retry{throttling(slow), throttling(slower)},
			stop: engine.ReasonMaxAttempts, class: classify.Throttling, left: 490, hits: 3},
		{name: "R6.4: a retry that ends for good", script: []script{say(500, ""), say(404, "")}, retries: []retry{transient(first)},
			stop: engine.ReasonNonRetryable, left: 486, hits: 2},
		{name: "one attempt", script: []script{say(500, "")}, most: 1, stop: engine.ReasonMaxAttempts, class: classify.Transient, left: 500, hits: 1},
		with(recovers("adaptive mode", say(429, ""), throttling(slow)), func(f *fault) { f.mode = engine.Adaptive }),
		with(recovers("legacy mode", say(500, ""), retry{classify.Transient, slow, 0}), func(f *fault) { f.mode = engine.Legacy }),

		but(fault{name: "115: POST", method: "POST", script: []script{say(503, "")}, stop: engine.ReasonNotReplayable, class: classify.Transient, left: 500, hits: 1}, again, "Do"),
		but(fault{name: "POST, cut off", method: "POST", script: []script{reset}, stop: engine.ReasonNotReplayable, class: classify.Transient, left: 500, hits: 1}, again, "Do"),
		with(recovers("POST with a key", say(503, ""), transient(first)), func(f *fault) { f.method, f.key = "POST", true }),
		with(recovers("PUT", say(503, ""), transient(first)), func(f *fault) { f.method = "PUT" }),
		{name: "POST that nobody listens to", method: "POST", retries: []retry{transient(first), transient(second)}, stop: engine.ReasonMaxAttempts, class: classify.Transient, left: 472},
	}
}
