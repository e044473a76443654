// Package replay runs written-down calls through an engine and compares what
// the engine decides with what the file expects.
//
// # The file
//
// One JSON document, of the format that testdata/vectors/README.md describes.
// It is read strictly: a key that is not known, is there twice or has a value of
// the wrong type, null in place of a value, a step that no attempt would reach
// and an attempt that has no step are errors, because a typing mistake in an
// expectation must not make it pass. An error names the file, line and column,
// the case, the call and the step.
//
// # Memory and time
//
// [Parse] holds one case at a time and reads any pipe, however long. A case is
// bounded to 256 MiB and two million steps, a string in it to 64 KiB. A replay
// never waits: delays are compared, not slept.
package replay
