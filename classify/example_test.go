package classify_test

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/reprise-go/reprise/classify"
)

func ExampleClassifier_ExplainError() {
	err := fmt.Errorf("load profile: %w", &net.OpError{
		Op: "dial", Net: "tcp",
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	})
	v := classify.Default.ExplainError(err)
	fmt.Println(v.Class, v.Rule.Clause(), v.Rule)
	fmt.Println("never sent:", v.NeverSent)
	// Output:
	// transient R3.2 the connection was refused
	// never sent: true
}

func ExampleClassifier_Response() {
	fmt.Println(classify.Default.Response(400, "ThrottlingException"))
	fmt.Println(classify.Default.Response(503, ""))
	fmt.Println(classify.Default.Response(404, "ResourceNotFoundException"))
	// Output:
	// throttling
	// transient
	// non_retryable
}

func ExampleClassifier_With() {
	c, err := classify.Default.With(classify.Overrides{
		Codes:    map[string]classify.Class{"LimitExceededException": classify.NonRetryable},
		Statuses: map[int]classify.Class{425: classify.Transient},
		NXDomain: classify.Transient,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Response(400, "LimitExceededException"))
	fmt.Println(c.Response(425, ""))
	fmt.Println(c.Error(&net.DNSError{Name: "db.internal", IsNotFound: true}))

	_, err = classify.Default.With(classify.Overrides{Statuses: map[int]classify.Class{5030: classify.Transient}})
	fmt.Println(err)
	// Output:
	// non_retryable
	// transient
	// transient
	// reprise/classify: Overrides.Statuses has 5030; want an HTTP status from 100 to 599
}

func ExampleNormalizeCode() {
	fmt.Println(classify.NormalizeCode("com.amazonaws.dynamodb.v20120810#ThrottlingException:http://internal/"))
	// Output: ThrottlingException
}
