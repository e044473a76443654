package proof_test

// difference is one thing that ours does otherwise than the SDK, on purpose.
type difference struct {
	name   string // the words by which awsretry's package comment tells of it
	script string
	kinds  []string          // of the clients that differ
	ours   map[string]string // the fields of the outcome that differ, with what they are
}

var (
	both    = []string{"Apply", "NewRetryer"}
	apply   = []string{"Apply"}
	dropped = []string{"NewRetryer"}
)

// differences are all of them. The table fails at any other, and at one of these
// that is none.
var differences = []difference{
	{"InternalError and IDPCommunicationError", "InternalError as a 400", both, map[string]string{
		"Attempts": "[attempt=1; max=4 attempt=2; max=4]", "Delays": "[12.5ms]", "Signed": "[0s 0s]", "Took": "12.5ms", "Error": "[]", "Results": "[retried ok]"}},
	{"InternalError and IDPCommunicationError", "IDPCommunicationError as a 400", both, map[string]string{
		"Attempts": "[attempt=1; max=4 attempt=2; max=4]", "Delays": "[12.5ms]", "Signed": "[0s 0s]", "Took": "12.5ms", "Error": "[]", "Results": "[retried ok]"}},

	{"cut short", "a short body once", both, map[string]string{
		"Attempts": "[attempt=1; max=4 attempt=2; max=4]", "Delays": "[12.5ms]", "Signed": "[0s 0s]", "Took": "12.5ms", "Error": "[]", "Results": "[retried ok]"}},
	{"cut short", "a short body for good", both, map[string]string{
		"Attempts": "[attempt=1; max=4 attempt=2; max=4 attempt=3; max=4 attempt=4; max=4]", "Delays": "[12.5ms 25ms 50ms]", "Signed": "[0s 0s 0s 0s]",
		"Took": "87.5ms", "Error": "[DynamoDB GetItem status 200 MaxAttemptsError 4 DeserializationError]", "Results": "[retried retried retried retryable]", "Tokens": "458"}},

	// The SDK asks for the checksum of a body and looks at it when nobody listens.
	{"X-Amz-Crc32 is wrong", "wrong checksum", apply, map[string]string{
		"Attempts": "[attempt=1; max=4 attempt=2; max=4]", "Delays": "[12.5ms]", "Signed": "[0s 0s]", "Took": "12.5ms", "Results": "[retried ok]"}},
	{"X-Amz-Crc32 is wrong", "wrong checksum for good", apply, map[string]string{
		"Attempts": "[attempt=1; max=4 attempt=2; max=4 attempt=3; max=4 attempt=4; max=4]", "Delays": "[12.5ms 25ms 50ms]", "Signed": "[0s 0s 0s 0s]",
		"Took": "87.5ms", "Error": "[DynamoDB GetItem status 200 MaxAttemptsError 4 DeserializationError]", "Results": "[retried retried retried retryable]", "Tokens": "458"}},

	// The SDK drops the first and wraps the second around to a negative delay (R5.2);
	// the third is no integer of R5's.
	{"x-amz-retry-after beyond 64 bits", "retry-after larger than an integer", apply, map[string]string{"Delays": "[5.0125s]", "Took": "5.0125s"}},
	{"x-amz-retry-after beyond 64 bits", "retry-after larger than a duration", apply, map[string]string{"Delays": "[5.0125s]", "Took": "5.0125s"}},
	{"with a sign it is no number", "retry-after with a sign", apply, map[string]string{"Delays": "[12.5ms]", "Took": "12.5ms"}},

	{"The skew that the client knows is kept", "skew, then no date", apply, map[string]string{"Signed": "[0s 10m0s 10m0s]"}},
	{"judged by what failed", "no route", both, map[string]string{
		"Attempts": "[]", "Bodies": "0", "Error": "[DynamoDB GetItem status 0]", "IDs": "0", "Results": "[final]", "Signed": "[]", "Took": "0s"}},
	{"judged by what failed", "unknown authority", both, map[string]string{
		"Attempts": "[]", "Bodies": "0", "Error": "[DynamoDB GetItem status 0]", "IDs": "0", "Results": "[final]", "Signed": "[]", "Took": "0s"}},

	// No sleep past the deadline; unsent retries give back what they took (R6.3); the
	// service's error is not lost.
	{"the delay cannot fit", "deadline in the delay", both, map[string]string{"Took": "0s", "Tokens": "500",
		"Error": "[DynamoDB GetItem status 400 types.ProvisionedThroughputExceededException ProvisionedThroughputExceededException RequestCanceledError deadline exceeded timeout]"}},
	{"takes any deadline for the caller's", "deadline in an attempt", dropped, map[string]string{"Results": "[retryable]"}},
	{"takes any deadline for the caller's", "deadline in a retry", dropped, map[string]string{"Results": "[retried retryable]"}},
	{"the delay cannot fit", "poll refused, deadline in the wait", apply, map[string]string{"Took": "0s"}},
	{"gives its tokens back", "cancelled in the delay", apply, map[string]string{"Tokens": "500",
		"Error": "[DynamoDB GetItem status 400 types.ProvisionedThroughputExceededException ProvisionedThroughputExceededException RequestCanceledError canceled]"}},
	{"when the caller's time is over", "poll refused, cancelled in the wait", apply, map[string]string{
		"Error": "[SQS ReceiveMessage status 400 smithy.GenericAPIError ProvisionedThroughputExceededException QuotaExceededError canceled]"}},
}

// deliberate are the differences of a script and a kind of client, by field.
func deliberate(script, kind string) map[string]string {
	all := make(map[string]string)
	for _, d := range differences {
		for _, k := range d.kinds {
			if d.script == script && k == kind {
				for field, value := range d.ours {
					all[field] = value
				}
			}
		}
	}
	return all
}
