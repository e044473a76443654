package promretry

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reprise-go/reprise/engine"
)

// Others is the key under which a group's collector shows all keys that have no
// name of their own.
const Others = "other"

const (
	// keyLimit is how many keys have names unless WithKeyLimit says otherwise.
	keyLimit = 100
	// idle is how long nothing must have happened under a name before it is given
	// on.
	idle = 5 * time.Minute
	// maxLabel is the longest label of a key, in bytes.
	maxLabel = 128
)

// keys is what a group's collector remembers from one scrape to the next.
type keys[K comparable] struct {
	group *engine.Group[K]
	limit int
	label func(K) string

	scraping sync.Mutex // scrapes take turns; calls know nothing of it
	round    uint64     // of scrapes
	named    map[K]*slot
	taken    map[string]bool // labels in named
	// last is what each engine without a name had counted at the last scrape, if
	// anything; spare is the map of the one before, to be used again.
	last, spare map[*engine.Engine]counts
	// others is what such engines have counted so far, also those that are gone, as
	// scrapes have seen it: it only rises.
	others counts

	quiet    []K  // in one scrape: names that can be taken back,
	searched bool // once they were searched for
}

// slot is a key that is shown by name.
type slot struct {
	label  string
	engine *engine.Engine // nil: it is gone, and not shown
	row    row
	round  uint64    // in which it was last in the group
	rose   time.Time // when its counts were last seen to rise
}

// line is what a scrape shows of a key.
type line struct {
	label string
	row   row
}

func newKeys[K comparable](g *engine.Group[K]) *keys[K] {
	return &keys[K]{
		group: g, limit: keyLimit, label: func(key K) string { return fmt.Sprint(key) },
		named: make(map[K]*slot), taken: make(map[string]bool),
		last: make(map[*engine.Engine]counts), spare: make(map[*engine.Engine]counts),
	}
}

// scrape looks at each engine once. What it holds is the names and, of the other
// engines, what they have counted.
func (k *keys[K]) scrape(now time.Time) (lines []line, lowest float64) {
	k.scraping.Lock()
	defer k.scraping.Unlock()
	k.round++
	k.quiet, k.searched = nil, false
	next := k.spare
	clear(next)
	var rest row
	nameless := func(c candidate[K]) {
		k.others = k.others.plus(c.fresh)
		rest.addGauges(c.row)
		if c.row.counts != (counts{}) {
			next[c.engine] = c.row.counts
		}
	}
	lowest = 1
	var wanting candidates[K]
	for key, e := range k.group.All() {
		r := rowOf(e.Stats())
		if r.quotas > 0 {
			lowest = min(lowest, float64(r.level)/float64(r.capacity))
		}
		if s := k.named[key]; s != nil {
			if s.engine != e || s.row.counts != r.counts {
				s.rose = now
			}
			s.engine, s.row, s.round = e, r, k.round
			continue
		}
		c := candidate[K]{key: key, engine: e, row: r, fresh: r.counts.minus(k.last[e])}
		if worse, ok := wanting.offer(c, k.limit); ok {
			nameless(worse)
		}
	}
	for key, s := range k.named {
		if s.round == k.round {
			continue
		}
		// The name is not free at once, or keys that come and go would make as many
		// series as they like.
		if s.engine = nil; now.Sub(s.rose) >= idle {
			k.unname(key, s)
		}
	}
	for _, c := range wanting.best() {
		if label := k.labelOf(c.key); label == "" || label == Others || k.taken[label] || !k.hasRoom(c, now, nameless) {
			nameless(c)
		} else {
			k.taken[label] = true
			k.named[c.key] = &slot{label: label, engine: c.engine, row: c.row, round: k.round, rose: now}
		}
	}
	k.last, k.spare = next, k.last
	lines = make([]line, 0, len(k.named)+1)
	for _, s := range k.named {
		if s.engine != nil {
			lines = append(lines, line{s.label, s.row})
		}
	}
	rest.counts = k.others
	return append(lines, line{Others, rest}), lowest
}

// hasRoom reports whether there is a name for c. If all are given away it takes
// back the one under which nothing has happened for longest, if that is long
// enough and c is in trouble; that key goes to nameless.
func (k *keys[K]) hasRoom(c candidate[K], now time.Time, nameless func(candidate[K])) bool {
	if len(k.named) < k.limit {
		return true
	}
	if c.fresh.troubles() == 0 {
		return false
	}
	if !k.searched {
		k.quiet, k.searched = k.quietSince(now.Add(-idle)), true
	}
	if len(k.quiet) == 0 {
		return false
	}
	key := k.quiet[0]
	k.quiet = k.quiet[1:]
	s := k.named[key]
	k.unname(key, s)
	nameless(candidate[K]{key: key, engine: s.engine, row: s.row}) // its counts were shown under its name
	return true
}

// quietSince are the named keys under which nothing has happened since then, the
// quietest first.
func (k *keys[K]) quietSince(then time.Time) (quiet []K) {
	for key, s := range k.named {
		if s.engine != nil && !s.rose.After(then) {
			quiet = append(quiet, key)
		}
	}
	slices.SortFunc(quiet, func(a, b K) int { return k.named[a].rose.Compare(k.named[b].rose) })
	return quiet
}

func (k *keys[K]) unname(key K, s *slot) {
	delete(k.named, key)
	delete(k.taken, s.label)
}

// labelOf is how a key is shown, "" if it cannot be.
func (k *keys[K]) labelOf(key K) (label string) {
	defer func() {
		if recover() != nil {
			label = ""
		}
	}()
	return labelOf(k.label(key))
}

// labelOf makes s a label: valid UTF-8, and short.
func labelOf(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), 2*maxLabel)], "\uFFFD")
	if len(s) <= maxLabel {
		return s
	}
	end := maxLabel
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
