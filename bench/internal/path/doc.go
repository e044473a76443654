// Package path says what is measured: each [Path] is one piece of work, each of
// its sides one implementation of it. Tests beside it hold the sides to the same
// work.
package path
