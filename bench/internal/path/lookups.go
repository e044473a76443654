package path

import (
	"fmt"
	"sync"

	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/bench/internal/peer"
	"github.com/reprise-go/reprise/engine"
)

const lookedAt = 256 // keys, so that the caches hold them

// lookup is a map of keys to engines.
func lookup(impl string, keys int, find func(names []string) func(key string) *engine.Engine) Side {
	return side(impl, func() measure.Loop {
		names := make([]string, keys)
		for i := range names {
			names[i] = fmt.Sprintf("tenant-%06d", i)
		}
		look := find(names)
		names = names[:min(keys, lookedAt)]
		return func(n int) {
			for i := range n {
				if look(names[i%len(names)]) == nil {
					panic("not found")
				}
			}
		}
	})
}

func lookups() []Path {
	var paths []Path
	for _, keys := range []int{1, 10_000} {
		paths = append(paths, Path{
			Name: fmt.Sprintf("group-%d", keys),
			What: fmt.Sprintf("The engine of a key that is in use, among %d: engine.Group, which is bounded, beside maps that are not.", keys),
			Sides: []Side{
				lookup("reprise", keys, func(names []string) func(string) *engine.Engine {
					g, err := engine.NewGroup[string](peer.Engine(), keys)
					if err != nil {
						panic(err)
					}
					for _, name := range names {
						g.For(name)
					}
					return g.For
				}),
				lookup("sync-map", keys, func(names []string) func(string) *engine.Engine {
					var m sync.Map
					for _, name := range names {
						m.Store(name, peer.Engine())
					}
					return func(key string) *engine.Engine {
						e, _ := m.Load(key)
						return e.(*engine.Engine)
					}
				}),
				lookup("mutex", keys, func(names []string) func(string) *engine.Engine {
					var mu sync.RWMutex
					m := make(map[string]*engine.Engine)
					for _, name := range names {
						m[name] = peer.Engine()
					}
					return func(key string) *engine.Engine {
						mu.RLock()
						e := m[key]
						mu.RUnlock()
						return e
					}
				}),
			},
		})
	}
	return paths
}
