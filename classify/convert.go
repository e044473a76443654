package classify

import (
	"net"
	"sync"
)

// asTargets are what an error's own As method is asked for. Passed on through
// an interface they live on the heap, so they are pooled.
type asTargets struct {
	retryable retryableError
	code      errorCoder
	status    statusCoder
	timeout   timeouter
	op        *net.OpError
	dns       *net.DNSError
	errno     errno
}

var asPool = sync.Pool{New: func() any { return new(asTargets) }}

// convert visits what err's own As method turns err into, as if err wrapped it,
// and reports whether there was anything. It asks no As method of the answers:
// one that returns its own receiver would never end.
func (x *exam) convert(err converter, neverSent bool) (visited bool) {
	if x.converting {
		return false
	}
	x.converting = true
	t := asPool.Get().(*asTargets)
	answer := func(ok bool, value any) {
		if e, isError := value.(error); ok && isError {
			x.visit(e, neverSent)
			visited = true
		}
	}
	answer(err.As(&t.retryable), t.retryable)
	answer(err.As(&t.code), t.code)
	answer(err.As(&t.status), t.status)
	answer(err.As(&t.timeout), t.timeout)
	answer(err.As(&t.op), t.op)
	answer(err.As(&t.dns), t.dns)
	answer(err.As(&t.errno), t.errno)
	*t = asTargets{}
	asPool.Put(t)
	x.converting = false
	return visited
}
