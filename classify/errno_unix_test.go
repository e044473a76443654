//go:build unix

package classify_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/classify"
)

var errnoRules = map[syscall.Errno]classify.Rule{
	syscall.ECONNREFUSED:  classify.RuleRefused,
	syscall.ECONNRESET:    classify.RuleReset,
	syscall.ECONNABORTED:  classify.RuleReset,
	syscall.ENETRESET:     classify.RuleReset,
	syscall.EPIPE:         classify.RuleReset,
	syscall.ENOTCONN:      classify.RuleClosed,
	syscall.ESHUTDOWN:     classify.RuleClosed,
	syscall.ETIMEDOUT:     classify.RuleTimeout,
	syscall.EAGAIN:        classify.RuleTimeout,
	syscall.EHOSTDOWN:     classify.RuleUnreachable,
	syscall.EHOSTUNREACH:  classify.RuleUnreachable,
	syscall.ENETDOWN:      classify.RuleUnreachable,
	syscall.ENETUNREACH:   classify.RuleUnreachable,
	syscall.EMFILE:        classify.RuleLocalFault,
	syscall.ENFILE:        classify.RuleLocalFault,
	syscall.ENOBUFS:       classify.RuleLocalFault,
	syscall.ENOMEM:        classify.RuleLocalFault,
	syscall.EADDRNOTAVAIL: classify.RuleLocalFault,
	syscall.EADDRINUSE:    classify.RuleLocalFault,
}

func TestEveryErrno(t *testing.T) {
	// R3.2: what is not listed is not retried, however the kernel names it.
	for n := syscall.Errno(0); n < 512; n++ {
		want := errnoRules[n] // RuleUnrecognized for the rest
		for _, err := range []error{n, sys("read", n), read(sys("read", n)), get(dial(sys("connect", n)))} {
			assert.Equal(t, want, classify.Default.ExplainError(err).Rule, "%d: %v", int(n), n)
		}
		wantClass := final
		switch want {
		case classify.RuleRefused, classify.RuleReset, classify.RuleClosed, classify.RuleTimeout:
			wantClass = transient
		}
		assert.Equal(t, wantClass, classify.Default.Error(n), "%d: %v", int(n), n)
	}
}

func TestTemporaryErrnoIsNotRetriedForThat(t *testing.T) {
	// EMFILE and ENFILE call themselves Temporary(): that is about this
	// machine, and nobody asks it.
	for _, n := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EINTR} {
		assert.True(t, n.Temporary())
		assert.Equal(t, final, classify.Default.Error(get(dial(sys("socket", n)))))
	}
}
