package storm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
	"github.com/reprise-go/reprise/internal/sim"
)

// Setup is a scenario and the policies to run it under.
type Setup struct {
	Name     string
	About    string // one sentence
	Scenario sim.Scenario
	Policies []sim.Policy
	OwnAlone bool   // a file asked for no policy but its own
	own      string // the own policy in words
}

// SetOwn makes a policy with these numbers the own one, in place of another.
func (s *Setup) SetOwn(own Own) {
	s.Policies = slices.DeleteFunc(s.Policies, func(p sim.Policy) bool { return p.Name == OwnName })
	s.Policies = append(s.Policies, own.Policy())
	s.own = own.words()
}

// PolicyNames are the policies that can be named, in the order in which they are
// shown.
func PolicyNames() (names []string) {
	for _, p := range sim.Policies() {
		names = append(names, p.Name)
	}
	return names
}

// FindPolicies returns the policies with these names, in the order in which they
// are shown.
func FindPolicies(names []string) (found []sim.Policy, err error) {
	known := PolicyNames()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("%q twice: want it once", scenario.Shorten(name))
		}
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%q: %swant %s", scenario.Shorten(name), scenario.DidYouMean(name, known), strings.Join(known, ", "))
		}
	}
	for _, p := range sim.Policies() {
		if slices.Contains(names, p.Name) {
			found = append(found, p)
		}
	}
	return found, nil
}

// OwnName is the name of the policy with the user's own numbers.
const OwnName = "own"

// Own is the policy with the user's own numbers.
type Own struct {
	proxyconf.Settings
	Pacing bool
}

// Check returns the first number that is wrong or has no effect, or false.
func (o Own) Check() (proxyconf.Fault, bool) {
	if fault, wrong := o.Settings.Check(); wrong {
		return fault, true
	}
	once := o.MaxAttempts == 1
	for _, idle := range []struct {
		is        bool
		key, text string
	}{
		{once && o.Quota != (engine.Quota{}), "quota.capacity", "or a cost is given and max_attempts is 1: want 2 or more, or there is no retry to pay for"},
		{once && o.Backoff != (fastbackoff.Schedule{}), "backoff.transient", "or another delay is given and max_attempts is 1: want 2 or more, or there is no retry that waits"},
		{once && o.Pacing, "pacing", "is about a retry that the quota refuses and max_attempts is 1: want 2 or more with it"},
		{o.Mode == engine.Legacy && o.Pacing, "pacing", "is about a retry that the quota refuses, and legacy mode has none: want mode standard or adaptive with it"},
	} {
		if idle.is {
			return proxyconf.Fault{Key: idle.key, Text: idle.text}, true
		}
	}
	return proxyconf.Fault{}, false
}

// Policy makes the policy, once Check has found nothing wrong.
func (o Own) Policy() sim.Policy {
	opts := o.Options()
	if o.Pacing {
		opts = append(opts, engine.WithPacing())
	}
	return sim.Policy{Name: OwnName, Options: opts}
}

// words are the numbers as the page has them, defaults filled in.
func (o Own) words() string {
	e, err := engine.New(o.Options()...)
	if err != nil { // Check has found nothing wrong
		return policyWords[OwnName]
	}
	words := e.Mode().String()
	if o.Service != "" {
		words += " for " + o.Service
	}
	if e.MaxAttempts() == 1 {
		return words + "; one attempt"
	}
	words += fmt.Sprintf("; %d attempts", e.MaxAttempts())
	if b := e.Schedule(); e.Mode() == engine.Legacy {
		words += fmt.Sprintf(", backoff from %s up to %s", timeWords(b.Transient), timeWords(b.Max))
	} else {
		words += fmt.Sprintf(", backoff from %s or, throttled, %s up to %s", timeWords(b.Transient), timeWords(b.Throttling), timeWords(b.Max))
		q := e.Quota()
		words += fmt.Sprintf("; a quota of %s tokens, of which a retry takes %d or %d", decimal(float64(q.Capacity)), q.TransientCost, q.ThrottlingCost)
	}
	if o.Pacing {
		words += "; a call that it refuses waits"
	}
	if o.Coalesce > 0 {
		words += "; throttles within " + timeWords(o.Coalesce) + " cut the rate once"
	}
	return words
}
