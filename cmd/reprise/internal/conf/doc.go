// Package conf reads files of settings in YAML or TOML, strictly: the proxy's
// upstreams, the storm's scenarios.
//
// Both formats are parsed by their libraries into plain tables and read by one
// reader from there on, so a mistake has the same words in either: file, line,
// key, what is wrong and what would be right. Nothing is guessed: an unknown key and
// a value of the wrong kind are errors, and a file with one error is not used at
// all.
//
// A file comes from the user and is still held to limits ([MaxFileBytes], depth, no
// YAML aliases, whose expansion has none).
package conf
