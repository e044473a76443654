package sim

import (
	"time"

	"github.com/reprise-go/reprise/engine"
)

// layer is the callers of one level.
type layer struct {
	Layer
	index   int
	callers []caller
	jitter  *stream
	choose  *stream // which caller of this layer a request from above is for
}

// caller is a client or a gateway: one engine, or what decides in its place.
type caller struct {
	engine  *engine.Engine
	own     Retrier
	layer   uint32
	index   uint32
	limited bool // has a send limiter
	asks    bool // a limiterMayAdmit is scheduled

	// The calls that wait for the limiter, in the order in which they came, as
	// flight+1. Only the first of them asks it: as AdmitWait has it, whose lines
	// need goroutines.
	first, last uint32
	waiting     int // in line and not lost
}

func (l *layer) build(w *world, index int, told Layer, p Policy) error {
	l.Layer, l.index = told, index
	l.jitter = newStream(w.Seed, forJitter+purpose(2*index))
	l.choose = newStream(w.Seed, forJitter+purpose(2*index+1))
	l.callers = make([]caller, told.Callers)
	for i := range l.callers {
		c := &l.callers[i]
		c.layer, c.index = uint32(index), uint32(i)
		if p.Own != nil && !told.Once {
			c.own = p.Own()
			continue
		}
		e, err := engine.New(w.options(told, p, l.jitter)...)
		if err != nil {
			return err
		}
		c.engine, c.limited = e, e.Mode() == engine.Adaptive
	}
	return nil
}

// begin starts a call of a caller. from is the request that it answers; for
// clients only the shard.
func (w *world) begin(c *caller, from request, looped bool) {
	i, f := w.flights.take()
	l := &w.layers[c.layer]
	f.gen++
	f.birth, f.began = f.gen, w.now
	f.caller, f.layer, f.looped, f.class = c.index, uint8(c.layer), looped, failed
	if c.layer > 0 || c.limited {
		w.flights.cargo(i).from = from
	}
	switch {
	case c.engine == nil:
		c.own.Begin(time.Duration(w.now))
	case w.Load.LongPoll && c.layer == 0:
		f.call = c.engine.BeginLongPoll()
	default:
		f.call = c.engine.Begin()
	}
	if l.Deadline > 0 {
		w.queue(w.lane(l.index, deadlineLane), w.now+int64(l.Deadline), deadlinePasses, request{i, f.birth, from.shard}, 0)
	}
	w.admit(i, f, from.shard)
}

func (w *world) callerOf(f *flight) *caller { return &w.layers[f.layer].callers[f.caller] }

// admit sends the next attempt, or puts the call in line.
func (w *world) admit(i uint32, f *flight, shard uint32) {
	c := w.callerOf(f)
	if !c.limited {
		if c.engine != nil {
			f.call.Admit()
		}
		w.send(i, f, shard)
		return
	}
	if c.first == 0 {
		wait := f.call.AdmitAt(w.time())
		if wait == 0 {
			w.send(i, f, shard)
			return
		}
		if w.hopeless(f, wait) {
			w.abandon(i, f, engine.ReasonDeadline)
			return
		}
		w.stand(c, i, f)
		w.askLater(c, wait)
		return
	}
	if w.layers[c.layer].Deadline > 0 {
		line := float64(c.waiting+1) / c.engine.Stats().Limiter.FillRate
		if w.hopeless(f, time.Duration(line*float64(time.Second))) {
			w.abandon(i, f, engine.ReasonDeadline)
			return
		}
	}
	w.stand(c, i, f)
}

// hopeless reports whether a wait takes half of the time that a call has left,
// which is AdmitWait's rule.
func (w *world) hopeless(f *flight, wait time.Duration) bool {
	deadline := w.layers[f.layer].Deadline
	return deadline > 0 && int64(wait) >= (f.began+int64(deadline)-w.now)/2
}

func (w *world) stand(c *caller, i uint32, f *flight) {
	f.standing = inLine
	w.flights.cargo(i).next = 0
	if c.first == 0 {
		c.first = i + 1
	} else {
		w.flights.cargo(c.last - 1).next = i + 1
	}
	c.last = i + 1
	c.waiting++
	w.waiting++
}

func (w *world) askLater(c *caller, wait time.Duration) {
	if !c.asks {
		c.asks = true
		w.later(w.now+int64(wait), limiterMayAdmit, request{slot: c.layer}, c.index)
	}
}

// serveLine sends those at the head of a line whom the limiter admits.
func (w *world) serveLine(c *caller) {
	for c.first != 0 {
		i := c.first - 1
		f := w.flights.at(i)
		if f.standing != lost {
			wait := f.call.AdmitAt(w.time())
			if wait > 0 && w.hopeless(f, wait) { // the rate was cut meanwhile
				w.abandon(i, f, engine.ReasonDeadline)
				continue // it is lost now
			}
			if wait > 0 {
				w.askLater(c, wait)
				return
			}
			c.waiting--
			w.waiting--
		}
		cargo := w.flights.cargo(i)
		c.first = cargo.next
		if f.standing == lost {
			w.flights.put(i, f)
		} else {
			w.send(i, f, cargo.from.shard)
		}
	}
}

// send puts an attempt on its way.
func (w *world) send(i uint32, f *flight, shard uint32) {
	f.gen++
	f.standing = sent
	l := &w.layers[f.layer]
	w.result.Sent[l.index]++
	if l.index == 0 {
		w.point.Attempts++
	}
	r := request{i, f.gen, shard}
	if l.Timeout > 0 {
		w.queue(w.lane(l.index, timeoutLane), w.now+int64(l.Timeout), attemptTimesOut, r, 0)
	}
	w.queue(w.lane(l.index, outLane), w.now+int64(l.Latency), requestArrives, r, uint32(l.index+1))
}

// reply sends an answer up to the layer of a flight, if it still waits for one.
func (w *world) reply(to request, r result) {
	if !w.waits(to) {
		return
	}
	l := &w.layers[w.flights.at(to.slot).layer]
	w.queue(w.lane(l.index, backLane), w.now+int64(l.Latency), answerArrives, to, uint32(r))
}

// waits reports whether somebody still waits for the answer to a request.
func (w *world) waits(r request) bool { return w.flights.at(r.slot).gen == r.gen }
