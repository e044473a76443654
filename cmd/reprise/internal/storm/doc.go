// Package storm is `reprise storm`: it runs one scenario under several retry
// policies, side by side, with the simulator of internal/sim, and says what became
// of calls and service.
//
// A [Setup] is a scenario with a name and the policies to run; it is built in
// ([Find]) or read from a file ([Load]). [Run] makes a [Result] of it, which is what
// --json prints and [Table] lays out. The result depends on the setup alone, so
// the same command prints the same bytes.
package storm
