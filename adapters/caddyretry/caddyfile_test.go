package caddyretry_test

import (
	gojson "encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/caddyretry"
)

// transportOf is the transport in a configuration.
func transportOf(t *testing.T, config []byte) (tr *caddyretry.Transport, asJSON string) {
	tr = new(caddyretry.Transport)
	var whole any
	require.NoError(t, gojson.Unmarshal(config, &whole))
	var found map[string]any
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if m, ok := v["transport"].(map[string]any); ok {
				found = m
			}
			for _, v := range v {
				look(v)
			}
		case []any:
			for _, v := range v {
				look(v)
			}
		}
	}
	look(whole)
	require.NotNil(t, found, "no transport in %s", config)
	assert.Equal(t, "reprise", found["protocol"])
	delete(found, "protocol")
	text, err := gojson.Marshal(found)
	require.NoError(t, err)
	require.NoError(t, caddy.StrictUnmarshalJSON(text, tr))
	return tr, string(text)
}

// All settings, ours and Caddy's, through a Caddyfile and JSON.
func TestCaddyfile(t *testing.T) {
	config, err := adapt(siteFile("127.0.0.1:1", "log", proxy("127.0.0.1:2", `
		name orders
		mode adaptive
		service dynamodb
		dial_timeout 1s
		max_attempts 5
		attempt_timeout 100ms 1d
		timeout 2d
		tls_trust_pool inline {
			trust_der AAAA
		}
		body_limit 1MiB
		any_method
		retry_mark
		hedge 10ms
		standard_retry_after
		coalesce 50ms
		max_upstreams 7
		quota {
			capacity 100
			transient_cost 10
			throttling_cost 3
		}
		backoff {
			transient 10ms
			throttling 100ms
			max 5s
		}
		classify transient 425 nxdomain
		classify throttling Odd 420
		versions 1.1
		keepalive_idle_conns 9`)))
	require.NoError(t, err)
	tr, _ := transportOf(t, config)
	assert.Equal(t, "orders", tr.Name)
	assert.Equal(t, "adaptive", tr.Mode)
	assert.Equal(t, "dynamodb", tr.Service)
	assert.Equal(t, 5, *tr.MaxAttempts)
	assert.Equal(t, []caddy.Duration{caddy.Duration(100 * ms), caddy.Duration(24 * time.Hour)}, tr.AttemptTimeout)
	assert.Equal(t, caddy.Duration(48*time.Hour), tr.Timeout)
	assert.Equal(t, 1<<20, *tr.BodyLimit)
	assert.Equal(t, []bool{true, true, true}, []bool{tr.AnyMethod, tr.RetryMark, tr.StandardRetryAfter})
	assert.Equal(t, caddy.Duration(10*ms), tr.Hedge)
	assert.Equal(t, caddy.Duration(50*ms), tr.Coalesce)
	assert.Equal(t, 7, *tr.MaxUpstreams)
	assert.Equal(t, caddyretry.Quota{Capacity: 100, TransientCost: 10, ThrottlingCost: 3}, *tr.Quota)
	assert.Equal(t, caddyretry.Backoff{Transient: caddy.Duration(10 * ms), Throttling: caddy.Duration(100 * ms), Max: caddy.Duration(5 * time.Second)}, *tr.Backoff)
	assert.Equal(t, caddyretry.Classify{
		Statuses: map[int]string{425: "transient", 420: "throttling"}, Codes: map[string]string{"Odd": "throttling"}, NXDomain: "transient",
	}, *tr.Classify)
	assert.Equal(t, caddy.Duration(time.Second), tr.DialTimeout, "Caddy's own")
	assert.Equal(t, []string{"1.1"}, tr.Versions)
	assert.Equal(t, 9, tr.KeepAlive.MaxIdleConns)
	assert.Contains(t, string(tr.TLS.CARaw), "AAAA")

	config, err = adapt(siteFile("127.0.0.1:1", "log", "reverse_proxy 127.0.0.1:2 {\n transport reprise\n }"))
	require.NoError(t, err)
	_, text := transportOf(t, config)
	assert.Equal(t, "{}", text, "no block is all defaults")
}

// What is wrong is said as reprise proxy says it, with the line. The same in JSON is
// an error of provisioning.
func TestWrongSettings(t *testing.T) {
	for _, row := range []struct{ line, text, json string }{
		{"mode fast", `mode is "fast": want standard, adaptive or legacy`, `"mode":"fast"`},
		{"mode", "mode has 0 values: want one text", ""},
		{`name ""`, "name is empty: want a text, or the setting left out", ""},
		{`name "a b"`, `name is "a b": want up to 63 printable ASCII characters`, `"name":"a b"`},
		{"max_attempts 0", "max_attempts is 0: want 1 to 2147483647, the first attempt included; 1 is no retries", `"max_attempts":0`},
		{"max_attempts -1", "max_attempts is -1: want 1", `"max_attempts":-1`},
		{"max_attempts many", `max_attempts is "many": want a whole number`, ""},
		{"max_attempts 1 2", "max_attempts has 2 values: want one whole number", ""},
		{"max_attempts 99999999999999999999", "max_attempts is \"99999999999999999999\": want a whole number", ""},
		{"service dynamo", `service is "dynamo": want dynamodb or dynamodbstreams`, `"service":"dynamo"`},
		{"service §", `service is "§": want an AWS service id`, `"service":"§"`},
		{"attempt_timeout", "attempt_timeout has no value: want a duration such as 250ms", ""},
		{"attempt_timeout 1s soon", `attempt_timeout is "soon": want a duration such as 250ms, 10s or 1m30s`, ""},
		{"attempt_timeout 1s 0s", "attempt_timeout is 0s: want a duration above zero, or 0s alone for no limit", `"attempt_timeout":["1s","0s"]`},
		{"attempt_timeout 1s 1s 1s 1s", "attempt_timeout is a list of 4, and a call has at most 3 attempts", `"attempt_timeout":[1,1,1,1]`},
		{"timeout -1s", "timeout is -1s: want a duration above zero, or 0s for no limit", `"timeout":"-1s"`},
		{"hedge -1s", "hedge is -1s: want a duration above zero, or 0s for none", `"hedge":"-1s"`},
		{"body_limit 65MiB", "body_limit is 68157440 bytes: want 0 (keep nothing) to 64 MiB", `"body_limit":68157440`},
		{"body_limit lots", `body_limit is "lots": want a number of bytes below 2 GiB`, ""},
		{"any_method yes", `any_method has the value "yes": want none`, ""},
		{"coalesce 50ms", "coalesce is about the send limiter, which standard mode does not have: want mode adaptive with it", `"coalesce":"50ms"`},
		{"max_upstreams 0", "max_upstreams is 0: want 1 to 1048576 upstreams", `"max_upstreams":0`},
		{"quota", "quota is empty: want a block with capacity, throttling_cost, transient_cost", ""},
		{"quota {\ncapacity -1\n}", "quota.capacity is -1: want 1 to 2147483647 tokens, or 0 for the default", `"quota":{"capacity":-1}`},
		{"quota {\ncapacity 10\n}", "quota.transient_cost is 14: want 1 to the capacity, 10 tokens", `"quota":{"capacity":10}`},
		{"quota {\nsize 10\n}", "quota.size is an unknown setting: want capacity, throttling_cost, transient_cost", ""},
		{"backoff {\nmax -1s\n}", "backoff.max is -1s: want a duration above zero, or 0s for the default", `"backoff":{"max":"-1s"}`},
		{"classify odd 500", `classify names a class "odd": want transient, throttling or non_retryable`, `"classify":{"codes":{"A":"odd"}}`},
		{"classify transient", "classify names too little: want a class", ""},
		{"classify transient 99", "classify names the status 99: want 100 to 599", `"classify":{"statuses":{"99":"transient"}}`},
		{"retry_mark\nretry_mark", "retry_mark is given twice: want it once", ""},
		{"max_atempts 3", "unrecognized subdirective max_atempts", ""},
		{"dial_timeout soon", "bad timeout value 'soon'", ""},
		{"versions 1.2", "", `"versions":["1.2"]`},
	} {
		t.Run(row.line, func(t *testing.T) {
			if row.text != "" {
				_, err := adapt("http://127.0.0.1:1 {\n reverse_proxy 127.0.0.1:2 {\n transport reprise {\n retry_mark\n " + row.line + "\n dial_timeout 2s\n}\n}\n}")
				if strings.HasPrefix(row.line, "retry_mark") {
					_, err = adapt("http://127.0.0.1:1 {\n reverse_proxy 127.0.0.1:2 {\n transport reprise {\n \n retry_mark\n retry_mark\n}\n}\n}")
				}
				require.ErrorContains(t, err, row.text)
				assert.Regexp(t, `Caddyfile:[5678]\b`, err.Error())
			}
			if row.json != "" {
				err := provision(fmt.Sprintf(`{"protocol":"reprise",%s}`, row.json))
				require.ErrorContains(t, err, "http.reverse_proxy.transport.reprise")
				if row.text != "" && !strings.HasPrefix(row.line, "classify transient 99") {
					assert.ErrorContains(t, err, row.text)
				}
			}
		})
	}
	assert.ErrorContains(t, provision(`{"protocol":"reprise","max_atempts":3}`), "max_atempts", "Caddy is strict")
	assert.Empty(t, caddyretry.Names(), "nothing is kept of what was not used")
}

// Two settings that do not go together are told at the line of one.
func TestSettingsTogether(t *testing.T) {
	for _, row := range []struct{ lines, text, at string }{
		{"attempt_timeout 2s\ntimeout 1s", "attempt_timeout is 2s: want no more than the timeout of the whole call, 1s", "Caddyfile:4"},
		{"timeout 1s\nattempt_timeout 2s", "attempt_timeout is 2s", "Caddyfile:5"},
		{"timeout 1s\nhedge 1s", "hedge is 1s: want less than the timeout of the whole call, 1s", "Caddyfile:5"},
		{"max_attempts 1\nhedge 1s", "hedge is 1s, for one more attempt, and max_attempts is 1: want 2 or more with it", "Caddyfile:5"},
		{"mode legacy\nquota {\n capacity 1\n}", "quota.capacity or a cost is given, but legacy mode has no retry quota", "Caddyfile:6"},
	} {
		_, err := adapt("http://127.0.0.1:1 {\n reverse_proxy 127.0.0.1:2 {\n transport reprise {\n" + row.lines + "\n}\n}\n}")
		require.ErrorContains(t, err, row.text)
		assert.ErrorContains(t, err, row.at)
	}
}

// provision sets a transport up as JSON has it, and validates it as Caddy does.
func provision(transport string) error {
	config := fmt.Sprintf(`{"admin":{"disabled":true},"apps":{"http":{"servers":{"a":{"listen":["127.0.0.1:1"],
		"routes":[{"handle":[{"handler":"reverse_proxy","upstreams":[{"dial":"127.0.0.1:2"}],"transport":%s}]}]}}}}}`, transport)
	var c caddy.Config
	if err := gojson.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	return caddy.Validate(&c)
}

// The zero Transport fails with an error that says so.
func TestZeroTransport(t *testing.T) {
	_, err := new(caddyretry.Transport).RoundTrip(nil)
	assert.ErrorContains(t, err, "not provisioned")
}
