package loom

// clock is how many steps of each thread happened before, or are, a step.
type clock [MaxThreads]int

func (c *clock) join(other clock) {
	for i := range c {
		c[i] = max(c[i], other[i])
	}
}

// event is a step that was taken.
type event struct {
	thread int
	clock  clock
}

// before reports whether e happened before what clock belongs to, or is it.
func (e *event) before(c *clock) bool { return c[e.thread] >= e.clock[e.thread] }

// variable is who used a word last, as indices of events.
type variable struct {
	write int   // -1: nobody
	reads []int // since that write
}

// races finds the steps of a run that could have come the other way round.
type races struct {
	events    []event
	threads   [MaxThreads]clock
	index     map[any]int // of variables, by word
	variables []variable
	found     []int // steps that the last one races with
	later     []int // for reverse
}

func (r *races) reset() {
	r.events, r.variables = r.events[:0], r.variables[:0]
	r.threads = [MaxThreads]clock{}
	if r.index == nil {
		r.index = make(map[any]int)
	}
	clear(r.index)
}

func (r *races) variable(word any) *variable {
	i, ok := r.index[word]
	if !ok {
		i = len(r.variables)
		r.index[word] = i
		if i < cap(r.variables) { // keep the memory of its reads
			r.variables = r.variables[:i+1]
			r.variables[i].write, r.variables[i].reads = -1, r.variables[i].reads[:0]
		} else {
			r.variables = append(r.variables, variable{write: -1})
		}
	}
	return &r.variables[i]
}

// add takes note of the step that is about to be taken.
func (r *races) add(t int, o op) {
	v, now := r.variable(o.word), r.threads[t]
	was := now
	r.found = r.found[:0]
	meet := func(i int) {
		e := &r.events[i]
		if e.thread != t && !e.before(&was) {
			r.found = append(r.found, i)
		}
		now.join(e.clock)
	}
	if v.write >= 0 {
		meet(v.write)
	}
	if o.write {
		for _, i := range v.reads {
			meet(i)
		}
	}
	now[t]++
	r.threads[t] = now
	if o.write {
		v.write, v.reads = len(r.events), v.reads[:0]
	} else {
		v.reads = append(v.reads, len(r.events))
	}
	r.events = append(r.events, event{t, now})
}

// reverse sees to it that each race of the latest step is run the other way
// round too: in the state before the earlier step somebody must be tried who can
// begin what led to the latest without that step.
func (r *races) reverse(nodes []node) {
	last := len(r.events) - 1
	for _, i := range r.found {
		earlier := &r.events[i]
		var seen, initials set
		r.later = r.later[:0]
		for j := i + 1; j <= last; j++ {
			e := &r.events[j]
			if j != last && earlier.before(&e.clock) {
				continue
			}
			if !seen.has(e.thread) {
				seen |= 1 << e.thread
				if !r.anyBefore(e) {
					initials |= 1 << e.thread
				}
			}
			r.later = append(r.later, j)
		}
		n := &nodes[i]
		if n.backtrack&initials != 0 {
			continue
		}
		if t := r.events[last].thread; initials.has(t) {
			n.backtrack |= 1 << t
		} else {
			n.backtrack |= 1 << initials.first()
		}
	}
}

func (r *races) anyBefore(e *event) bool {
	for _, i := range r.later {
		if r.events[i].before(&e.clock) {
			return true
		}
	}
	return false
}
