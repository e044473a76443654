package differential_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type object = map[string]any

// replayFile writes what the SDK made of a script as a case of `reprise replay`, or
// says why its format cannot. Delays are those of jitter 1: the format has one
// draw for all.
func replayFile(s *script, m *mismatch, log []event) (text []byte, missing string) {
	switch {
	case s.Adaptive:
		return nil, "it has no waits for the limiter"
	case len(s.Calls) > 50:
		return nil, "the script is too long"
	}
	settings := object{"mode": "standard", "max_attempts": max(s.attempts(), 1), "capacity": s.Capacity, "tokens": s.Tokens, "jitter": 1.0}
	if s.DynamoDB {
		settings["service"] = "dynamodb"
	}
	var calls []object
	for i, c := range s.Calls {
		if c.Cancel != 0 || c.Deadline != 0 {
			return nil, "it has no ends within a call"
		}
		var steps []object
		for _, e := range log {
			if e.call != i {
				continue
			}
			p := step{Kind: "ok"}
			if e.step < len(c.Steps) {
				p = c.Steps[e.step]
			}
			one, why := replayStep(&p, e)
			if why != "" {
				return nil, why
			}
			steps = append(steps, one)
		}
		if len(steps) > 0 && steps[len(steps)-1]["expect"].(object)["outcome"] == "retry" {
			steps = append(steps, object{"status": 200}) // where the comparison ended
		}
		if len(steps) > 0 {
			calls = append(calls, object{"long_polling": c.LongPoll, "steps": steps})
		}
	}
	if len(calls) == 0 {
		return nil, "no attempt came to an end"
	}
	name := fmt.Sprintf("what the SDK does; %v", m)
	text, err := json.MarshalIndent(object{"format": "reprise-replay/1", "cases": []object{{"name": name, "engine": settings, "calls": calls}}}, "", " ")
	if err != nil {
		return nil, err.Error()
	}
	return append(text, '\n'), ""
}

func replayStep(p *step, e event) (one object, missing string) {
	one = object{}
	switch k := kinds[p.Kind]; {
	case p.Kind == "ok":
		one["status"] = 200
	case k.replay == "answer":
		one["status"], one["code"] = p.Status, p.Code
		if p.Status == 200 {
			return nil, "its 2xx is a success, with or without a code"
		}
		if p.Hint != "" {
			one["headers"] = map[string]string{"x-amz-retry-after": p.Hint}
		}
	case k.replay != "":
		one["error"] = k.replay
	default:
		return nil, "it has no " + p.Kind
	}
	expect := object{"outcome": e.outcome, "quota": e.quota}
	if draw := float64(e.draw) / math.Exp2(64); e.outcome == "retry" && p.Hint == "" && draw > 0.01 {
		ceiling := time.Duration(math.Round(float64(e.delay)/draw/1e3)) * time.Microsecond
		expect["delay_ms"] = ceiling.Seconds() * 1e3
	}
	one["expect"] = expect
	return one, ""
}

// A failure that the format can say is written with what the SDK did, at jitter 1.
func TestReplayFile(t *testing.T) {
	s := &script{Seed: 1, Capacity: 500, Tokens: 20, Calls: []call{
		{Steps: []step{{Kind: "answer", Status: 503, Code: "SlowDown"}, {Kind: "reset"}, {Kind: "answer", Status: 404, Code: "Gone"}}},
		{LongPoll: true, Steps: []step{{Kind: "eof"}}},
	}}
	m, log := run(t, s, tally{})
	require.Nil(t, m)
	text, missing := replayFile(s, &mismatch{what: "none"}, log)
	require.Empty(t, missing)
	var file struct {
		Cases []struct {
			Calls []struct{ Steps []struct{ Expect object } }
		}
	}
	require.NoError(t, json.Unmarshal(text, &file))
	calls := file.Cases[0].Calls
	assert.Equal(t, object{"outcome": "retry", "quota": 15.0, "delay_ms": 1000.0}, calls[0].Steps[0].Expect)
	assert.Equal(t, object{"outcome": "retry", "quota": 1.0, "delay_ms": 100.0}, calls[0].Steps[1].Expect)
	assert.Equal(t, object{"outcome": "non_retryable", "quota": 1.0}, calls[0].Steps[2].Expect)
	assert.Equal(t, object{"outcome": "quota", "quota": 1.0}, calls[1].Steps[0].Expect)
}
