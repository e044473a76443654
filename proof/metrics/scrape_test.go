package metrics_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// faulty is an upstream: /ok answers, /flaky/N fails the first time, /gone is not
// there, /down always fails, /slow asks for less.
func faulty(t *testing.T) (url string, sent *atomic.Int64) {
	t.Helper()
	var seen sync.Map
	sent = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		switch {
		case strings.HasPrefix(r.URL.Path, "/flaky/"):
			if _, again := seen.LoadOrStore(r.URL.Path, true); !again {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		case r.URL.Path == "/gone":
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Path == "/down":
			w.WriteHeader(http.StatusBadGateway)
		case r.URL.Path == "/slow":
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, sent
}

func get(t *testing.T, from string) []byte {
	t.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(from)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return text
}

// scraper starts a Prometheus that scrapes the proxy five times a second, with the
// rules of promretry.
func scraper(t *testing.T, target string) (api string) {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs("../../adapters/promretry/rules.yml")
	require.NoError(t, err)
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `global: {scrape_interval: 200ms, evaluation_interval: 200ms}
rule_files: [%q]
scrape_configs:
  - job_name: proxy
    metrics_path: /-/metrics
    static_configs: [{targets: [%q]}]
`, rules, strings.TrimPrefix(target, "http://")), 0o600))
	run(t, nil, program(t, "promtool"), "check", "config", config)
	at := start(t, regexp.MustCompile(`msg="Listening on" address=(127\.0\.0\.1:\d+)`), program(t, "prometheus"), "--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--storage.tsdb.retention.time=1h", "--web.listen-address=127.0.0.1:0")
	return "http://" + at[1] + "/api/v1/"
}

// ask is an instant query. Its answer is the values by the labels that differ from
// one to the next; "" if there is but one.
func ask(t *testing.T, api, query string) map[string]float64 {
	t.Helper()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	require.NoError(t, json.Unmarshal(get(t, api+"query?query="+url.QueryEscape(query)), &answer))
	require.Equal(t, "success", answer.Status, answer.Error)
	values := make(map[string]float64)
	for _, r := range answer.Data.Result {
		value, err := strconv.ParseFloat(r.Value[1].(string), 64)
		require.NoError(t, err)
		values[r.Metric["class"]+r.Metric["reason"]+r.Metric["code"]] = value
	}
	return values
}

// A query returns what was sent.
func TestPrometheusScrapesTheProxy(t *testing.T) {
	upstream, sent := faulty(t)
	at, admin := proxy(t, upstream)
	api := scraper(t, admin)
	for range 30 {
		get(t, at+"/ok")
	}
	for i := range 10 {
		get(t, fmt.Sprintf("%s/flaky/%d", at, i))
	}
	for range 5 {
		get(t, at+"/gone")
	}
	for range 3 {
		get(t, at+"/down")
	}
	for range 2 {
		get(t, at+"/slow")
	}
	const calls, attempts = 30 + 10 + 5 + 3 + 2, 30 + 20 + 5 + 9 + 6
	require.EqualValues(t, attempts, sent.Load())
	query := func(query string) map[string]float64 { return ask(t, api, query) }
	require.Eventually(t, func() bool { return query(`reprise_calls_total{engine="default"}`)[""] == calls }, patience, 50*time.Millisecond)

	one := func(v float64) map[string]float64 { return map[string]float64{"": v} }
	const tokens = 500 - 3*2*14 - 2*2*5 // R6: what recovered gave back what it took
	for _, row := range []struct {
		query string
		want  map[string]float64
	}{
		{`up`, one(1)},
		{`reprise_attempts_total`, one(attempts)},
		{`reprise_retries_total`, map[string]float64{"transient": 10 + 6, "throttling": 4}},
		{`reprise_recoveries_total`, one(10)},
		{`reprise_stops_total > 0`, map[string]float64{"non_retryable": 5, "max_attempts": 5}},
		{`reprise_quota_tokens`, one(tokens)},
		{`reprise_quota_capacity_tokens`, one(500)},
		{`reprise_retry_delay_seconds_count`, map[string]float64{"transient": 16, "throttling": 4}},
		{`reprise_retry_delay_seconds_bucket{le="0.025"}`, map[string]float64{"transient": 16, "throttling": 4}},
		{`reprise_proxy_responses_total{upstream="default"} > 0`, map[string]float64{"2xx": 40, "4xx": 7, "5xx": 3}},
		{`count(reprise_calls_total{key=""})`, one(1)},
	} {
		assert.Equal(t, row.want, query(row.query), row.query)
	}
	require.Eventually(t, func() bool { return len(query(`instance:reprise_quota:ratio`)) == 1 }, patience, 50*time.Millisecond)
	assert.InDelta(t, tokens/500.0, query(`instance:reprise_quota:ratio`)[""], 1e-9)

	var rules struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(get(t, api+"rules"), &rules))
	seen := 0
	for _, group := range rules.Data.Groups {
		for _, rule := range group.Rules {
			seen++
			assert.NotEqual(t, "err", rule.Health, "%s: %s", rule.Name, rule.LastError)
		}
	}
	assert.Equal(t, 9, seen)
	run(t, strings.NewReader(string(get(t, admin+"/-/metrics"))), program(t, "promtool"), "check", "metrics")
}
