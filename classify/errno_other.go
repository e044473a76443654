//go:build !unix && !windows

package classify

// errno is a type that no error has: these systems (js, wasip1, plan9) have no
// numbers for what happens on a network, or none that agree.
type errno uint8

func (errno) Error() string { return "no error number of this system" }

func errnoRule(errno) Rule { return RuleUnrecognized }
