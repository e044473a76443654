package proxy

import (
	"cmp"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
)

// table finds the upstream of a request. It is immutable.
type table struct {
	upstreams []*upstream // in the order of the configuration
	byHost    map[string][]rule
}

// rule is a prefix of paths.
type rule struct {
	prefix   string // without a slash at its end
	upstream *upstream
}

func newTable(upstreams []*upstream) *table {
	t := &table{upstreams: upstreams, byHost: make(map[string][]rule)}
	for _, u := range upstreams {
		for _, host := range orAny(u.Hosts) {
			for _, prefix := range orAny(u.Paths) {
				t.byHost[host] = append(t.byHost[host], rule{strings.TrimRight(prefix, "/"), u})
			}
		}
	}
	for _, rules := range t.byHost {
		slices.SortStableFunc(rules, func(a, b rule) int { return cmp.Compare(len(b.prefix), len(a.prefix)) })
	}
	return t
}

func orAny(list []string) []string {
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

// find returns the upstream of a request, or nil: of those that name its host,
// else of those that name none, the one with the longest prefix. The path counts
// as an upstream would understand it, with dots and double slashes resolved.
func (t *table) find(r *http.Request) *upstream {
	at := r.URL.Path
	if strings.Contains(at, "/.") || strings.Contains(at, "//") {
		at = path.Clean("/" + at)
	}
	if len(t.byHost) > 1 || t.byHost[""] == nil {
		if u := match(t.byHost[hostOf(r)], at); u != nil {
			return u
		}
	}
	return match(t.byHost[""], at)
}

func match(rules []rule, at string) *upstream {
	for _, rule := range rules {
		rest, ok := strings.CutPrefix(at, rule.prefix)
		if ok && (rest == "" || rest[0] == '/' || rule.prefix == "") {
			return rule.upstream
		}
	}
	return nil
}

// hostOf is the host that a client asked for, in lower case, without port.
func hostOf(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		if host = name; strings.Contains(name, ":") {
			host = "[" + name + "]"
		}
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
