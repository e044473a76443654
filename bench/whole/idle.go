package whole

import (
	"fmt"
	"net/http"
	"runtime"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/reprise-go/reprise/engine"
)

// idlers make many policies that do nothing, one for each upstream or tenant, and
// return what keeps them alive.
var idlers = []struct {
	impl string
	make func(n int) (any, error)
}{
	{"reprise-standard", func(n int) (any, error) { return engines(n, engine.Standard) }},
	{"reprise-adaptive", func(n int) (any, error) { return engines(n, engine.Adaptive) }},
	{"reprise-group", func(n int) (any, error) {
		template, err := engine.New()
		if err != nil {
			return nil, err
		}
		g, err := engine.NewGroup[string](template, n)
		if err != nil {
			return nil, err
		}
		for i := range n {
			g.For(fmt.Sprintf("10.0.%d.%d:80", i>>8, i&255))
		}
		if g.Len() != n {
			return nil, fmt.Errorf("%d engines in the group: want %d", g.Len(), n)
		}
		return g, nil
	}},
	{"aws-standard", func(n int) (any, error) { return many(n, func() any { return retry.NewStandard() }), nil }},
	{"aws-adaptive", func(n int) (any, error) { return many(n, func() any { return retry.NewAdaptiveMode() }), nil }},
	{"failsafe-go", func(n int) (any, error) {
		return many(n, func() any {
			return failsafehttp.NewRetryPolicyBuilder().WithMaxAttempts(attempts).WithBackoff(baseWait, maxWait).
				WithBudget(budget.New()).Build()
		}), nil
	}},
	{"retryablehttp", func(n int) (any, error) {
		return many(n, func() any {
			client := retryablehttp.NewClient()
			client.HTTPClient = http.DefaultClient // connections are no part of it
			return client
		}), nil
	}},
}

func engines(n int, mode engine.Mode) (any, error) {
	all := make([]*engine.Engine, n)
	for i := range all {
		e, err := engine.New(engine.WithMode(mode))
		if err != nil {
			return nil, err
		}
		all[i] = e
	}
	return all, nil
}

func many(n int, one func() any) any {
	all := make([]any, n)
	for i := range all {
		all[i] = one()
	}
	return all
}

// footprint is what each of n policies keeps on the heap: bytes and objects.
func footprint(n int, make func(n int) (any, error)) (bytes, objects float64, err error) {
	if _, err := make(1); err != nil { // what is made once for all
		return 0, 0, err
	}
	before := live()
	kept, err := make(n)
	if err != nil {
		return 0, 0, err
	}
	after := live()
	runtime.KeepAlive(kept)
	return (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / float64(n),
		(float64(after.HeapObjects) - float64(before.HeapObjects)) / float64(n), nil
}

// live is the heap after what is dead was swept: twice, for finalizers and pools.
func live() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
