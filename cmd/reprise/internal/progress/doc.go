// Package progress shows a run while it lasts: as bars that are redrawn on a
// terminal, or as a plain line each second elsewhere.
package progress
