package classify

import "syscall"

type errno = syscall.Errno

// Windows answers with numbers of Winsock and of Win32, most of which the
// syscall package does not name.
const (
	errorTooManyOpenFiles   errno = 4
	errorNotEnoughMemory    errno = 8
	errorOutOfMemory        errno = 14
	errorNetnameDeleted     errno = 64
	errorBrokenPipe         errno = 109
	errorSemTimeout         errno = 121
	errorNoData             errno = 232
	errorConnectionRefused  errno = 1225
	errorNetworkUnreachable errno = 1231
	errorHostUnreachable    errno = 1232
	errorConnectionAborted  errno = 1236
	errorHostDown           errno = 1256
	errorNoSystemResources  errno = 1450
	errorTimeout            errno = 1460
	wsaEMFILE               errno = 10024
	wsaEADDRINUSE           errno = 10048
	wsaEADDRNOTAVAIL        errno = 10049
	wsaENETDOWN             errno = 10050
	wsaENETUNREACH          errno = 10051
	wsaENETRESET            errno = 10052
	wsaECONNABORTED         errno = 10053
	wsaECONNRESET           errno = 10054
	wsaENOBUFS              errno = 10055
	wsaENOTCONN             errno = 10057
	wsaESHUTDOWN            errno = 10058
	wsaETIMEDOUT            errno = 10060
	wsaECONNREFUSED         errno = 10061
	wsaEHOSTDOWN            errno = 10064
	wsaEHOSTUNREACH         errno = 10065
)

// errnoRule gives the rule of a system call's error. What is not here is not
// retried: R3.2 lists the I/O failures that are. The names of syscall are
// there for code that makes such errors itself.
func errnoRule(e errno) Rule {
	switch e {
	case wsaECONNREFUSED, errorConnectionRefused, syscall.ECONNREFUSED:
		return RuleRefused
	case wsaECONNRESET, wsaECONNABORTED, wsaENETRESET, errorNetnameDeleted,
		errorConnectionAborted, errorBrokenPipe, errorNoData,
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.ENETRESET, syscall.EPIPE:
		return RuleReset
	case wsaENOTCONN, wsaESHUTDOWN, syscall.ENOTCONN, syscall.ESHUTDOWN:
		return RuleClosed
	case wsaETIMEDOUT, errorSemTimeout, errorTimeout,
		syscall.ETIMEDOUT, syscall.EAGAIN, syscall.EWOULDBLOCK:
		return RuleTimeout
	case wsaEHOSTDOWN, wsaEHOSTUNREACH, wsaENETDOWN, wsaENETUNREACH,
		errorNetworkUnreachable, errorHostUnreachable, errorHostDown,
		syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.ENETUNREACH:
		return RuleUnreachable
	case wsaEMFILE, wsaENOBUFS, wsaEADDRINUSE, wsaEADDRNOTAVAIL,
		errorTooManyOpenFiles, errorNotEnoughMemory, errorOutOfMemory, errorNoSystemResources,
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.EADDRNOTAVAIL, syscall.EADDRINUSE:
		return RuleLocalFault
	}
	return RuleUnrecognized
}
