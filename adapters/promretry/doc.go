// Package promretry shows engines to Prometheus.
//
//	recorder := promretry.NewRecorder()
//	e, err := engine.New(engine.WithObserver(recorder.Observer()))
//	collector, err := promretry.New("orders", e, promretry.WithRecorder(recorder))
//	prometheus.MustRegister(collector)
//
// A [Collector] reads the engine's own counts when it is scraped and at no other
// time: calls do not know that it is there. [New] shows one engine, [NewGroup] the
// engines of an [engine.Group] by key, [NewSet] those of a program whose engines
// come and go, such as reprise proxy's.
//
// What an engine does not count, because that would cost each call a write, needs
// a [Recorder]: calls, attempts and the distribution of the delays. It is an
// observer, so it is there from New on or not at all. A success at the first
// attempt then costs an add to a counter of its processor, which shares no cache
// line with others, and the call of the hook; no lock and no allocation. Without
// one the three metrics are missing, and so is the retry ratio of the rules below.
//
// # Metrics
//
// All have the label engine, the name that was given, and but for those of the
// group itself the label key, which is empty (and so, to Prometheus, missing) but
// in a group. Values are as in [engine.Stats].
//
//	reprise_quota_tokens                           gauge      tokens in the retry quota (R6); missing in legacy mode
//	reprise_quota_capacity_tokens                  gauge      tokens it holds at the most; likewise
//	reprise_retries_total                          counter    retries granted, by class: transient, throttling
//	reprise_unsent_retries_total                   counter    retries and hedges granted and never sent (R6.3)
//	reprise_hedges_total                           counter    attempts sent beside another
//	reprise_recoveries_total                       counter    calls that succeeded on a retry
//	reprise_stops_total                            counter    calls that ended without success, by reason, as engine.Reason spells it
//	reprise_observer_panics_total                  counter    panics of observer hooks
//	reprise_limiter_enabled                        gauge      1 once something was throttled; this and the next in adaptive mode alone (R8)
//	reprise_limiter_fill_attempts_per_second       gauge      attempts per second that the limiter lets through
//	reprise_limiter_measured_attempts_per_second   gauge      responses per second that it has measured
//	reprise_limiter_tokens                         gauge      its level
//	reprise_limiter_capacity_tokens                gauge      the most it holds
//	reprise_limiter_waiting                        gauge      calls that wait for it
//
// With a recorder, and for a group as a whole:
//
//	reprise_calls_total                            counter    calls that have ended, but for those that a panic ended
//	reprise_attempts_total                         counter    attempts that these calls made, hedges included
//	reprise_retry_delay_seconds                    histogram  delays of granted retries, by class; some end early
//
// Of a group:
//
//	reprise_group_engines                          gauge      engines now
//	reprise_group_engines_limit                    gauge      engines at the most
//	reprise_group_made_engines_total               counter    engines made
//	reprise_group_dropped_engines_total            counter    of those, gone to make room while they equalled new ones
//	reprise_group_expired_engines_total            counter    of those, gone because nobody had asked for them for long
//	reprise_group_overflows_total                  counter    look-ups that found no room: calls without retries
//	reprise_group_unkeyed_total                    counter    look-ups of keys that no map can hold
//	reprise_group_template_panics_total            counter    panics of the template func
//	reprise_group_lowest_quota_ratio               gauge      level over capacity of the emptiest quota of all keys; 1 if there is none
//
// Each number is right; those of one scrape are only nearly of one instant.
// Engines that share a quota ([engine.Engine.Derive]) share their counts too: show
// one of them.
//
// # Keys
//
// Who can invent keys must not be able to invent series. So a group's collector
// shows at most as many keys by name as [WithKeyLimit] says (100), and all others
// together under the key "other": counts and gauges summed, limiter_enabled too, as
// their number. A key without a name of its own gets one when there is room, those
// with the most retries and failed calls first. A name is kept for at least five
// minutes after the last time that something happened under it, also when the
// group no longer has the key's engine; then it is free, or, if the engine is still
// there, given on to a key that retries or fails. So whoever invents keys that fail
// makes at most that many new series in five minutes, and five minutes after that
// no trace of them is left here. Labels are valid UTF-8 of at most 128 bytes; a key
// whose label is empty, "other", or one that another key has, is counted with the
// others.
//
// The counts of "other" never go back, though engines leave the group: the collector
// remembers what each had counted at the last scrape, and adds what is new. What it
// misses is what an engine counted between its last scrape and its going. This
// memory, under 256 bytes for each key that has counted anything, is held as long as
// the engine lives; it and the time of a scrape are bounded by the group's limit. A
// scrape of 10,000 keys is some 20 ms of one processor and 1 MB of garbage (go test
// -bench Scrape). A key's counts begin anew with its engine, which Prometheus takes
// for a restart.
//
// # Rules
//
// Beside this file: rules.yml has alerts (quota nearly empty, more than one retry in
// ten calls, limiter engaged, group full) and the recordings that they need;
// dashboard.json is a board for Grafana.
package promretry
