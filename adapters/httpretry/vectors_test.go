package httpretry_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// vectorFile is what these tests read of testdata/vectors (see its README).
type vectorFile struct {
	Cases []struct {
		Name   string
		Engine struct {
			Service      string
			MaxAttempts  *int     `json:"max_attempts"`
			Tokens       *int     `json:"tokens"`
			MaxBackoffMS int      `json:"max_backoff_ms"`
			Jitter       *float64 `json:"jitter"`
		}
		Calls []struct {
			LongPolling bool `json:"long_polling"`
			Steps       []vectorStep
		}
	}
}

type vectorStep struct {
	Status  int
	Code    string
	Headers map[string]string
	Expect  struct {
		Outcome string
		Quota   *int
		DelayMS *float64 `json:"delay_ms"`
	}
}

func readVectors(t *testing.T, name string) (f vectorFile) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/vectors/" + name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &f))
	require.NotEmpty(t, f.Cases)
	return f
}

// codedError is a failure that is known by its code alone.
type codedError string

func (e codedError) Error() string     { return string(e) }
func (e codedError) ErrorCode() string { return string(e) }

// A code can come in any of these.
var carriers = map[string]func(status int, code string) *http.Response{
	"header": func(status int, code string) *http.Response {
		return response(status, "busy", "X-Amzn-Errortype", code+":http://internal.test/")
	},
	"JSON": func(status int, code string) *http.Response {
		return response(status, fmt.Sprintf(`{"message":"busy","__type":"ns#%s"}`, code), "Content-Type", "application/x-amz-json-1.0")
	},
	"XML": func(status int, code string) *http.Response {
		return response(status, fmt.Sprintf(`<?xml version="1.0"?><Error><Code>%s</Code></Error>`, code), "Content-Type", "text/xml")
	},
}

// The published cases through the RoundTripper: the decisions, delays and levels
// are the engine's, wherever the code was.
func TestVectors(t *testing.T) {
	for _, name := range []string{"standard.json", "retry_after.json"} {
		for _, c := range readVectors(t, name).Cases {
			for carrier, carry := range carriers {
				t.Run(c.Name+"/"+carrier, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var ev events
						opts := []engine.Option{ev.observer()}
						if c.Engine.Jitter != nil {
							opts = append(opts, engine.WithSource(fastbackoff.Fixed(*c.Engine.Jitter)))
						}
						if c.Engine.Service != "" {
							opts = append(opts, engine.WithService(c.Engine.Service))
						}
						if c.Engine.MaxAttempts != nil {
							opts = append(opts, engine.WithMaxAttempts(*c.Engine.MaxAttempts))
						}
						if c.Engine.Tokens != nil {
							opts = append(opts, engine.WithTokens(*c.Engine.Tokens))
						}
						opts = append(opts, engine.WithSchedule(fastbackoff.Schedule{Max: time.Duration(c.Engine.MaxBackoffMS) * ms}))
						e, err := engine.New(opts...)
						require.NoError(t, err)
						for _, call := range c.Calls {
							ev = events{}
							playCall(t, e, &ev, call.Steps, call.LongPolling, carry)
						}
					})
				})
			}
		}
	}
}

func playCall(t *testing.T, e *engine.Engine, ev *events, steps []vectorStep, long bool, carry func(int, string) *http.Response) {
	b := &base{answer: func(n int, _ *http.Request) (*http.Response, error) {
		require.LessOrEqual(t, n, len(steps), "one attempt too many")
		step := steps[n-1]
		if step.Status == 0 {
			return nil, codedError(step.Code)
		}
		resp := response(step.Status, "")
		if step.Code != "" {
			resp = carry(step.Status, step.Code)
		}
		for k, v := range step.Headers {
			resp.Header.Set(k, v)
		}
		return resp, nil
	}}
	ctx := t.Context()
	if long {
		ctx = httpretry.LongPoll(ctx)
	}
	resp, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(get(t, ctx))
	end := time.Now()
	require.Len(t, b.sent, len(steps))
	for i, step := range steps {
		next := end
		if i+1 < len(steps) {
			next = b.sent[i+1].at
		}
		if step.Expect.DelayMS != nil {
			want := time.Duration(*step.Expect.DelayMS * float64(ms))
			assert.InDelta(t, want, next.Sub(b.sent[i].at), float64(time.Microsecond), "step %d", i+1)
		}
		var outcome string
		var quota int
		switch {
		case i < len(ev.retries):
			outcome, quota = "retry", ev.retries[i].QuotaLeft
		case len(ev.stops) > 0:
			outcome, quota = ev.stops[0].Reason.String(), ev.stops[0].QuotaLeft
			if resp != nil && (i > 0 || outcome != "non_retryable") {
				r, ok := httpretry.ResultOf(resp)
				require.True(t, ok)
				assert.Equal(t, outcome, r.Reason.String())
				assert.Equal(t, i+1, r.Attempts)
				assert.Equal(t, step.Code, r.Code)
			}
		default:
			outcome, quota = "success", ev.success[0].QuotaLeft
			require.NoError(t, err)
		}
		assert.Equal(t, step.Expect.Outcome, outcome, "step %d", i+1)
		if step.Expect.Quota != nil {
			assert.Equal(t, *step.Expect.Quota, quota, "step %d", i+1)
		}
	}
	if last := steps[len(steps)-1]; last.Status != 0 {
		require.NoError(t, err)
		assert.Equal(t, last.Status, resp.StatusCode)
	}
}
