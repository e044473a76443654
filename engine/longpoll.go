package engine

// LongPolling reports whether an operation, named as its service names it, is
// one of the four whose refused retry waits before the error is returned (R7):
// SQS ReceiveMessage, SFN GetActivityTask, SWF PollForActivityTask and
// PollForDecisionTask. Wait-free.
func LongPolling(operation string) bool {
	switch operation {
	case "ReceiveMessage", "GetActivityTask", "PollForActivityTask", "PollForDecisionTask":
		return true
	}
	return false
}
