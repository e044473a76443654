package classify

import (
	"fmt"
	"maps"
)

// Overrides changes what R3 says, for one Classifier. The zero value changes
// nothing. A code or status of the table beats R3.1, R3.2 and R3.4, and loses
// to what an error says of itself (R3.5).
type Overrides struct {
	// Codes gives error codes a class. Each is a bare code, as NormalizeCode
	// returns it; nil leaves all as they are.
	Codes map[string]Class
	// Statuses gives HTTP statuses, 100 to 599, a class where no code is
	// recognised; nil leaves all as they are.
	Statuses map[int]Class
	// NXDomain is the class of a host name that does not exist (R3.7). Its
	// zero, NonRetryable, leaves it as it is: not retried, in a Classifier
	// that no earlier With told otherwise.
	NXDomain Class
}

// With returns a new Classifier with o on top of c's own overrides; c stays as
// it is, and so does the answer if o's maps change later. It fails on a class
// that is none, on a code that is empty or not bare, and on a status outside
// 100 to 599. Blocks on nothing.
func (c *Classifier) With(o Overrides) (*Classifier, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	n := new(Classifier)
	if c != nil {
		*n = *c
	}
	n.codes = merged(n.codes, o.Codes)
	n.statuses = merged(n.statuses, o.Statuses)
	if o.NXDomain != NonRetryable {
		n.nxDomain = o.NXDomain
	}
	return n, nil
}

func (o Overrides) validate() error {
	const want = "want NonRetryable (0), Transient (1) or Throttling (2)"
	for code, class := range o.Codes {
		if code == "" {
			return fmt.Errorf("reprise/classify: Overrides.Codes has an empty code; want an error code such as %q", "SlowDown")
		}
		if bare := NormalizeCode(code); bare != code {
			return fmt.Errorf("reprise/classify: Overrides.Codes has %q, which no response can match; want the bare code, %q", code, bare)
		}
		if !class.Valid() {
			return fmt.Errorf("reprise/classify: Overrides.Codes[%q] is %d; %s", code, uint8(class), want)
		}
	}
	for status, class := range o.Statuses {
		if status < 100 || status > 599 {
			return fmt.Errorf("reprise/classify: Overrides.Statuses has %d; want an HTTP status from 100 to 599", status)
		}
		if !class.Valid() {
			return fmt.Errorf("reprise/classify: Overrides.Statuses[%d] is %d; %s", status, uint8(class), want)
		}
	}
	if !o.NXDomain.Valid() {
		return fmt.Errorf("reprise/classify: Overrides.NXDomain is %d; %s", uint8(o.NXDomain), want)
	}
	return nil
}

// merged returns a new map of both, or nil if there is nothing in either: nil
// is what keeps the look-up off the path of those who override nothing.
func merged[K comparable](old, over map[K]Class) map[K]Class {
	if len(old)+len(over) == 0 {
		return nil
	}
	m := make(map[K]Class, len(old)+len(over))
	maps.Copy(m, old)
	maps.Copy(m, over)
	return m
}

// nxDomainClass is the class of RuleDNSNotFound.
func (c *Classifier) nxDomainClass() Class {
	if c == nil {
		return NonRetryable
	}
	return c.nxDomain
}
