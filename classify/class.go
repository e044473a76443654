package classify

import "strconv"

// Class says what a failure means for a retry (R3). The values are ordered by
// nothing: compare them for equality only. The zero value is NonRetryable, so
// a forgotten Class never retries.
type Class uint8

const (
	// NonRetryable failures are returned to the caller at once (R3.3).
	NonRetryable Class = iota
	// Transient failures are retried with the short base delay (R3.2).
	Transient
	// Throttling failures are retried with the long base delay and slow an
	// adaptive limiter down (R3.1).
	Throttling

	classes // how many there are
)

// Valid reports whether c is one of the three classes. Wait-free.
func (c Class) Valid() bool { return c < classes }

// String returns "non_retryable", "transient" or "throttling", and "Class(n)"
// for a value that is none of the three. It allocates only for the latter.
func (c Class) String() string {
	switch c {
	case NonRetryable:
		return "non_retryable"
	case Transient:
		return "transient"
	case Throttling:
		return "throttling"
	}
	return "Class(" + strconv.Itoa(int(c)) + ")"
}
