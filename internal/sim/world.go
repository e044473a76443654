package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-go/reprise/engine"
)

// world is one simulation. One goroutine runs it.
type world struct {
	Scenario
	watch Watch
	now   int64
	end   int64  // when no more calls begin
	order uint64 // of the next event
	stop  bool   // somebody has had enough

	wheel wheel
	lanes []lane
	heads []moment // when each lane's first event is due

	flights hangar
	layers  []layer
	shards  []shard
	crowd   float64 // times as many calls, by faults
	arrive  arrivals
	services,
	errors *stream

	result  Result
	point   Point // counts since the last sample
	waiting int   // calls in limiters' lines
}

// laneID is a lane. Each layer has four more.
type laneID int

const (
	arrivalLane laneID = iota
	layerLanes
)

const (
	outLane      laneID = iota // requests on their way down
	backLane                   // answers on their way up
	timeoutLane                // ends of attempts
	deadlineLane               // ends of calls
	lanesPerLayer
)

func (w *world) lane(layer int, which laneID) laneID {
	return layerLanes + laneID(layer)*lanesPerLayer + which
}

// epoch is the instant at which every simulation begins: a whole second, as R8.4
// lays the limiter's buckets.
var epoch = time.Unix(1_800_000_000, 0)

// clock shows the engines the simulation's time. Nobody sleeps on it.
type clock struct{ world *world }

func (c clock) Now() time.Time { return c.world.time() }

func (clock) Sleep(context.Context, time.Duration, <-chan struct{}) {}

func (w *world) time() time.Time { return epoch.Add(time.Duration(w.now)) }

// horizon is when even the calls of a scenario that takes its time have ended; the
// engine's instants end 135 years later.
const horizon = int64(100 * 365 * 24 * time.Hour)

// moment gives an event its place. What lies beyond the horizon, or so far that it
// has no number, is put there.
func (w *world) moment(at int64, k kind) moment {
	w.order++
	if at < w.now || at > horizon {
		at = horizon
	}
	return moment{at, w.order<<8 | uint64(k)}
}

// later schedules an event whose time is like no other's.
func (w *world) later(at int64, k kind, r request, aux uint32) {
	w.wheel.push(event{w.moment(at, k), r, aux})
}

// queue schedules an event behind those of its lane.
func (w *world) queue(id laneID, at int64, k kind, r request, aux uint32) {
	l := &w.lanes[id]
	e := event{w.moment(at, k), r, aux}
	if l.empty() {
		w.heads[id] = e.moment
	}
	l.push(e)
}

// next takes the first of all events.
func (w *world) next() (e event, ok bool) {
	first, due := -1, moment{at: never}
	for id := range w.heads {
		if head := &w.heads[id]; head.before(due) {
			first, due = id, *head
		}
	}
	before := w.wheel.tick
	top := w.wheel.peek(due.at)
	if w.wheel.tick != before {
		w.flights.fetch(w.wheel.near)
	}
	if top != nil && top.before(due) {
		return w.wheel.pop(), true
	}
	if first < 0 {
		return event{}, false
	}
	l := &w.lanes[first]
	w.flights.fetch(l.ahead())
	e = l.pop()
	if l.empty() {
		w.heads[first].at = never
	} else {
		w.heads[first] = l.peek().moment
	}
	return e, true
}

// run goes through the events until the last call has ended.
func (w *world) run() error {
	w.later(w.end+1, endPasses, request{}, 0)
	for !w.stop && (w.now <= w.end || w.flights.live > 0) {
		e, ok := w.next()
		if !ok {
			return nil
		}
		if w.now = e.at; w.now == horizon {
			return fmt.Errorf("reprise/sim: %d calls, gateways' included, are under way after 100 years: want shorter services, queues, latencies or delays, or a deadline", w.flights.live)
		}
		w.happen(&e)
		if w.flights.over {
			return fmt.Errorf("reprise/sim: more than %d calls, gateways' included, are under way at once after %v: want fewer calls, a shorter queue, or a shorter deadline or timeout", w.flights.most, time.Duration(w.now))
		}
	}
	return nil
}

func (w *world) happen(e *event) {
	switch e.kind() {
	case callArrives:
		w.callArrives()
	case burstArrives:
		for i := range e.aux {
			w.offer(i%uint32(len(w.layers[0].callers)), false)
		}
	case callBegins:
		if w.now < w.end {
			w.offer(e.aux, true)
		}
	case requestArrives:
		w.requestArrives(e)
	case serviceEnds:
		w.serviceEnds(e)
	case answerArrives:
		if f := w.flights.at(e.slot); f.gen == e.gen {
			w.answered(e.slot, f, e.shard, result(e.aux))
		}
	case attemptTimesOut:
		if f := w.flights.at(e.slot); f.gen == e.gen {
			w.point.TimedOut++
			w.answered(e.slot, f, e.shard, transient)
		}
	case deadlinePasses:
		if f := w.flights.at(e.slot); f.birth == e.gen {
			w.outOfTime(e.slot, f)
		}
	case backoffEnds:
		if f := w.flights.at(e.slot); f.gen == e.gen {
			w.admit(e.slot, f, e.shard)
		}
	case pauseEnds:
		if f := w.flights.at(e.slot); f.gen == e.gen {
			w.ends(e.slot, f, engine.ReasonQuota)
		}
	case limiterMayAdmit:
		w.layers[e.slot].callers[e.aux].asks = false
		w.serveLine(&w.layers[e.slot].callers[e.aux])
	case faultChanges:
		before := w.crowd
		w.applyFaults()
		if w.crowd != before {
			w.redrawArrival()
		}
	case sampleDue:
		w.sample()
	}
}

// Run simulates the scenario under a policy until every call has ended, or until
// watch ends it. An error is a scenario that is wrong, an *InvalidError, or options
// that make no engine, or calls that take 100 years, or too many under way at once to
// be kept. Blocks for as long as that takes: about a second for a million calls. Reads
// no clock.
func Run(s Scenario, p Policy, watch Watch) (Result, error) {
	w, err := newWorld(s, p, watch)
	if err != nil {
		return Result{}, err
	}
	if err := w.run(); err != nil {
		return Result{}, err
	}
	w.finish()
	return w.result, nil
}

func newWorld(s Scenario, p Policy, watch Watch) (*world, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s = s.WithDefaults()
	w := &world{Scenario: s, watch: watch, end: int64(s.Duration)}
	w.flights.most = mostUnderWay
	w.result = Result{Policy: p.Name, Seed: s.Seed, Duration: s.Duration, Sample: s.Sample, Sent: make([]uint64, len(s.Layers))}
	if err := w.build(p); err != nil {
		return nil, err
	}
	return w, nil
}

// build makes callers and server, and schedules what is known from the beginning.
func (w *world) build(p Policy) error {
	w.lanes = make([]lane, w.lane(len(w.Layers), 0))
	w.heads = make([]moment, len(w.lanes))
	for i := range w.heads {
		w.heads[i].at = never
	}
	for i := range w.Layers {
		w.lanes[w.lane(i, timeoutLane)].cold = true
		w.lanes[w.lane(i, deadlineLane)].cold = true
	}
	w.services, w.errors = newStream(w.Seed, forService), newStream(w.Seed, forErrors)
	w.layers = make([]layer, len(w.Layers))
	for i, told := range w.Layers {
		if err := w.layers[i].build(w, i, told, p); err != nil {
			return err
		}
	}
	w.shards = make([]shard, w.Server.Shards)
	w.applyFaults()
	for at := int64(w.Sample); at <= w.end; at += int64(w.Sample) {
		w.later(at, sampleDue, request{}, 0)
	}
	w.buildFaults()
	w.buildLoad()

	return nil
}

// options are an engine's in this world.
func (w *world) options(told Layer, p Policy, jitter *stream) []engine.Option {
	opts := append([]engine.Option{}, p.Options...)
	opts = append(opts, engine.WithClock(clock{w}), engine.WithSource(jitter))
	if told.Once {
		opts = append(opts, engine.WithMaxAttempts(1))
	}
	return opts
}
