package faulty

// Kind is what the server does with one request.
type Kind uint8

// The kinds, in the order in which they are drawn and listed.
const (
	OK         Kind = iota // 200 with a small JSON body
	Status500              // 500 with a JSON body that holds no error code
	Status503              // 503 with the HTML page of a load balancer
	Throttle               // 400 with DynamoDB's throughput exception, which is throttling by its code alone
	RetryAfter             // 500 or 503 with an x-amz-retry-after header
	Reset                  // the connection is reset before any answer
	Cut                    // 200 whose body ends before its Content-Length
	Slow                   // 200, late
	kinds      = iota
)

var kindNames = [kinds]string{"ok", "500", "503", "throttle", "retry-after", "reset", "cut", "slow"}

// String is the name of k in a mix, such as "retry-after".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Kinds are all kinds, [OK] first.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// fails says whether k is a failure by itself; a slow answer is one only to a
// client that does not wait for it.
func (k Kind) fails() bool { return k != OK && k != Slow }
