package classify

// Overrides changes what RETRY.md says, for one Classifier.
type Overrides struct {
	// Codes gives error codes a class of the caller's (R3.1, R3.2, R3.4).
	Codes map[string]Class
	// Statuses gives HTTP statuses, 100 to 599, a class of the caller's.
	Statuses map[int]Class
	// NXDomain is the class of a host name that does not exist (R3.7).
	NXDomain Class
}

// With returns a new Classifier with o on top of c's own overrides.
func (c *Classifier) With(o Overrides) (*Classifier, error) { return &Classifier{}, nil }
