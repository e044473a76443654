package proxy

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/reprise-go/reprise/engine"
)

// admin is the handler of the admin listener, which tells and changes nothing.
func (s *Server) admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		if s.ending.Load() {
			refuse(w, http.StatusServiceUnavailable, "the proxy is ending")
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("healthy\n"))
	})
	mux.Handle("GET /-/metrics", promhttp.HandlerFor(newMetrics(s), promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		MaxRequestsInFlight: 4,
	}))
	mux.HandleFunc("GET /-/engines", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		_ = out.Encode(s.engines())
	})
	return forThisMachine(mux)
}

// forThisMachine refuses what was asked of another name than this machine's own, if
// it came by loopback: a page in a browser here may have a name that leads here.
func forThisMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		if local != nil && local.IP.IsLoopback() && !isOwn(hostOf(r)) {
			refuse(w, http.StatusForbidden, "this listener is on loopback: want localhost or an address as the host")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isOwn(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil
}

// engines is the document of /-/engines.
type engines struct {
	Schema    string          `json:"schema"`
	Upstreams []engineOfOneUp `json:"upstreams"`
}

type engineOfOneUp struct {
	Name        string            `json:"name"`
	Mode        string            `json:"mode"`
	MaxAttempts int               `json:"max_attempts"`
	Quota       *quotaState       `json:"quota"` // null in legacy mode
	Retries     retryCounts       `json:"retries"`
	Recoveries  uint64            `json:"recoveries"`
	Stops       map[string]uint64 `json:"stops"`
	Limiter     *limiterState     `json:"limiter"` // null but in adaptive mode
	InFlight    int64             `json:"requests_in_flight"`
	URLs        []urlState        `json:"urls"`
}

type quotaState struct {
	Level          int `json:"level_tokens"`
	Capacity       int `json:"capacity_tokens"`
	TransientCost  int `json:"transient_cost_tokens"`
	ThrottlingCost int `json:"throttling_cost_tokens"`
}

type retryCounts struct {
	Transient  uint64 `json:"transient"`
	Throttling uint64 `json:"throttling"`
	Unsent     uint64 `json:"unsent"`
	Hedges     uint64 `json:"hedges"`
}

type limiterState struct {
	Enabled         bool     `json:"enabled"`
	FillRate        float64  `json:"fill_rate_per_second"`
	MeasuredRate    float64  `json:"measured_rate_per_second"`
	Capacity        float64  `json:"capacity_tokens"`
	Level           float64  `json:"level_tokens"`
	Waiting         int      `json:"waiting"`
	SinceThrottleMS *float64 `json:"since_throttle_ms"` // null if there was none
}

type urlState struct {
	URL        string `json:"url"`
	Attempts   uint64 `json:"attempts"`
	Failed     uint64 `json:"failed_attempts"` // without an answer
	PassedOver bool   `json:"passed_over"`
}

func (s *Server) engines() engines {
	out := engines{Schema: "reprise.engines/1", Upstreams: []engineOfOneUp{}}
	for _, u := range s.table.Load().upstreams {
		stats, quota := u.engine.Stats(), u.engine.Quota()
		one := engineOfOneUp{
			Name: u.Name, Mode: stats.Mode.String(), MaxAttempts: u.engine.MaxAttempts(),
			Retries:    retryCounts{stats.TransientRetries, stats.ThrottlingRetries, stats.UnsentRetries, stats.Hedges},
			Recoveries: stats.Recoveries,
			Stops:      make(map[string]uint64),
			InFlight:   u.counts.inFlight.Load(),
		}
		if stats.Mode != engine.Legacy {
			one.Quota = &quotaState{stats.QuotaLevel, stats.QuotaCapacity, quota.TransientCost, quota.ThrottlingCost}
		}
		for reason, n := range stats.Stops {
			if reason := engine.Reason(reason); reason != engine.ReasonRetry {
				one.Stops[reason.String()] = n
			}
		}
		if l := stats.Limiter; stats.Mode == engine.Adaptive {
			one.Limiter = &limiterState{l.Enabled, l.FillRate, l.MeasuredRate, l.Capacity, l.Level, l.Waiting, nil}
			if l.Enabled {
				since := float64(l.SinceThrottle) / float64(time.Millisecond)
				one.Limiter.SinceThrottleMS = &since
			}
		}
		for _, r := range u.replicas.all {
			one.URLs = append(one.URLs, urlState{r.url.String(), r.attempts.Load(), r.failures.Load(), r.passedOver()})
		}
		out.Upstreams = append(out.Upstreams, one)
	}
	return out
}
