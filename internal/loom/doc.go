// Package loom runs lock-free code through every order in which a few goroutines
// can take their atomic steps.
//
// # Problem
//
// A fault in lock-free code shows in one order of steps among thousands, and a
// hammer meets that order once in a million tries, or only on a machine with
// more processors. So the orders are not waited for but made, one after the
// other, and each is checked.
//
// # Design
//
// Built with the tag reprise_loom, the words of package internal/atomic call
// [Step] before each operation. The threads of a [Trial] are coroutines: a step
// gives control back to [Explore], which lets one of them go on, and so runs the
// trial by one schedule. It is run again and again, each time with fresh state
// and by another schedule, until there is none left.
//
// Two steps commute unless they are on the same word and one of them may write.
// Schedules that differ only in the order of steps that commute are one: of each
// such class one is run, found by dynamic partial order reduction with source
// sets and sleep sets (Abdulla et al., POPL 2014). Without a bound in [Options]
// this is exhaustive: every value that any word can take, and every outcome, is
// seen. With [Options.Preemptions] every schedule with so few preemptions is
// run, and no other.
//
// # Not covered
//
//   - Orders that are not sequentially consistent. Go's atomics have none, and
//     memory that is not atomic is the race detector's.
//   - What is no word of package internal/atomic: a Map there is one step for
//     each operation, whatever sync.Map does inside, and a Pool gives each thread
//     its own. Channels and timers take no part, so a trial must not wait for one.
//   - More threads, or longer ones, than a trial has.
//
// A trial must do the same whenever it is run by the same schedule: no clock, no
// random number, no order of a map. No other goroutine may use a word meanwhile.
package loom
