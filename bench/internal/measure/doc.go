// Package measure takes the time of loops that are to be compared.
//
// The unit is a slice: a few milliseconds of one side's loop on a number of
// goroutines and processors. A pass is a slice of each side, one right after the
// other, so that whatever else the machine does meets all of them alike; a ratio
// is formed within a pass and never across. See the package path for what is
// measured and the package report for what is made of it.
package measure
