// Package report makes a table and a page of what was measured.
package report
