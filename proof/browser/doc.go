// Package browser holds the tests that look at the command's pages with a real
// browser, Chromium: on a phone, on a desk and on paper. They are in a module of
// their own for what drives it. make servers installs Chromium where it is missing.
package browser
