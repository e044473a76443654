package caddyretry

import (
	"testing"

	"github.com/reprise-go/reprise/engine"
)

// SetEngineOptions gives the engines made until the test's end these options too.
func SetEngineOptions(t *testing.T, opts ...engine.Option) {
	testOptions = opts
	t.Cleanup(func() { testOptions = nil })
}

// EnginesOf returns the engines of a name, by upstream; none before its first call.
func EnginesOf(name string) map[string]*engine.Engine {
	engines := make(map[string]*engine.Engine)
	pool.Range(func(key, value any) bool {
		if f := value.(*kept).fleet.Load(); key == name && f != nil {
			for upstream, e := range f.group.All() {
				engines[upstream] = e
			}
		}
		return true
	})
	return engines
}

// Names returns the names that engines are kept under.
func Names() (names []string) {
	pool.Range(func(key, _ any) bool {
		names = append(names, key.(string))
		return true
	})
	return names
}
