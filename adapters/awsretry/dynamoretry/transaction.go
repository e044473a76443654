package dynamoretry

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-go/reprise/classify"
)

// TransactionCanceled returns the class of a TransactionCanceledException by the
// reasons it carries, one per item, and whether err is one at all.
//
// Reasons that say that the capacity was exceeded make it throttling, conflicts
// with other transactions transient; of the two throttling wins, because it needs
// the longer delay. Any other reason, such as a condition that failed, makes it
// non-retryable, whatever stands beside it: the same transaction would be
// cancelled again. So does the lack of any reason. "None", of an item that was
// not the cause, counts for nothing.
//
// Wait-free, allocates nothing, reads no clock. Ours: R3.3 has the whole code as
// not retryable.
func TransactionCanceled(err error) (classify.Class, bool) {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || canceled == nil {
		return classify.NonRetryable, false
	}
	class := classify.NonRetryable
	for _, reason := range canceled.CancellationReasons {
		code := ""
		if reason.Code != nil {
			code = classify.NormalizeCode(*reason.Code)
		}
		switch code {
		case "None", "":
		case "ProvisionedThroughputExceeded", "ThrottlingError":
			class = classify.Throttling
		case "TransactionConflict":
			class = max(class, classify.Transient)
		default:
			return classify.NonRetryable, true
		}
	}
	return class, true
}
