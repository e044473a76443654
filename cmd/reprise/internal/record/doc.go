// Package record holds what a run of calls has shown: counters that many
// goroutines add to while it lasts ([Recorder]), its course over time
// ([Series]), and the numbers that are reported at its end ([Result]).
//
// Memory does not grow with the number of calls: latencies go into histograms
// and the course over time into a fixed number of slots that get longer as the
// run does.
package record
