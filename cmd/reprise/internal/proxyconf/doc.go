// Package proxyconf is what `reprise proxy` is told about its upstreams: by
// flags, or by a file in YAML or TOML.
//
// Both formats are parsed by their libraries into plain tables and read by one
// reader from there on, so a mistake has the same words in either: file, line,
// key, what is wrong and what would be right. Nothing is guessed: an unknown key,
// a value of the wrong kind and a setting without effect are errors, and a file
// with one error is not used at all.
//
// A file comes from the operator and is still held to limits ([MaxFileBytes],
// MaxUpstreams, no YAML aliases, whose expansion has none): a proxy that is told
// to read the wrong file must say so and not fall over.
package proxyconf
