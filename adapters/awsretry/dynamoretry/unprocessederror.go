package dynamoretry

import "fmt"

// UnprocessedError says that the service did not do all of a batch. It is found
// by errors.As in the error of [BatchWriteItem] and [BatchGetItem], within the
// *engine.Error that says why the rest was not sent again.
type UnprocessedError struct {
	Left  int // items or keys that came back, those that were never sent included
	Items int // items or keys in the input
}

// Error says how much is left.
func (e *UnprocessedError) Error() string {
	return fmt.Sprintf("reprise/dynamoretry: %d of %d items are unprocessed", e.Left, e.Items)
}
