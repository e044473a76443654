//go:build unix

package classify

import "syscall"

type errno = syscall.Errno

// errnoRule gives the rule of a system call's error. What is not here is not
// retried: R3.2 lists the I/O failures that are.
func errnoRule(e errno) Rule {
	switch e {
	case syscall.ECONNREFUSED:
		return RuleRefused
	case syscall.ECONNRESET, syscall.ECONNABORTED, syscall.ENETRESET, syscall.EPIPE:
		return RuleReset
	case syscall.ENOTCONN, syscall.ESHUTDOWN:
		return RuleClosed
	case syscall.ETIMEDOUT, syscall.EAGAIN: // EAGAIN: SO_RCVTIMEO, SO_SNDTIMEO
		return RuleTimeout
	case syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.ENETUNREACH:
		return RuleUnreachable
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.EADDRNOTAVAIL, syscall.EADDRINUSE:
		return RuleLocalFault
	}
	return RuleUnrecognized
}
