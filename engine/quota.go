package engine

import (
	"fmt"

	"github.com/reprise-go/reprise/atomicbucket"
)

// firstSuccessTokens is what a success on the first attempt gives back (R6).
const firstSuccessTokens = 1

// Quota is the retry quota of an engine (R6). A field that is zero takes the
// value of [DefaultQuota]; to switch retries off, use WithMaxAttempts(1).
type Quota struct {
	Capacity       int // the most tokens it holds, 1 to atomicbucket.MaxCapacity; default 500
	TransientCost  int // tokens a retry after a transient failure takes, 1 to Capacity; default 14
	ThrottlingCost int // tokens a retry after a throttling failure takes, 1 to Capacity; default 5
}

// DefaultQuota returns the quota of R6: 500 tokens, 14 for a retry after a
// transient failure, 5 after a throttling one.
func DefaultQuota() Quota {
	return Quota{Capacity: 500, TransientCost: 14, ThrottlingCost: 5}
}

// withDefaults fills what is zero. A capacity that is set smaller than a cost
// that is not keeps the default cost and fails validation: to guess a cost
// would hide the mistake.
func (q Quota) withDefaults() Quota {
	d := DefaultQuota()
	if q.Capacity == 0 {
		q.Capacity = d.Capacity
	}
	if q.TransientCost == 0 {
		q.TransientCost = d.TransientCost
	}
	if q.ThrottlingCost == 0 {
		q.ThrottlingCost = d.ThrottlingCost
	}
	return q
}

func (q Quota) validate() error {
	if q.Capacity < 1 || q.Capacity > atomicbucket.MaxCapacity {
		return fmt.Errorf("reprise/engine: Quota.Capacity is %d: want 1 to %d tokens (0 for the default, %d)",
			q.Capacity, atomicbucket.MaxCapacity, DefaultQuota().Capacity)
	}
	for _, cost := range [...]struct {
		name   string
		tokens int
	}{{"TransientCost", q.TransientCost}, {"ThrottlingCost", q.ThrottlingCost}} {
		if cost.tokens < 1 || cost.tokens > q.Capacity {
			return fmt.Errorf("reprise/engine: Quota.%s is %d: want 1 to the capacity, %d tokens; a cost above it could never be paid",
				cost.name, cost.tokens, q.Capacity)
		}
	}
	return nil
}
