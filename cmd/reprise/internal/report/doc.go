// Package report writes what a run has shown: as a table for people, as JSON
// for programs, and as one self-contained HTML page with charts.
package report
