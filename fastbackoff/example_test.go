package fastbackoff_test

import (
	"fmt"

	"github.com/reprise-go/reprise/fastbackoff"
)

func ExampleSchedule_Ceiling() {
	s := fastbackoff.Default()
	for index := range 4 {
		fmt.Println(s.Ceiling(fastbackoff.Transient, index), s.Ceiling(fastbackoff.Throttling, index))
	}
	// Output:
	// 50ms 1s
	// 100ms 2s
	// 200ms 4s
	// 400ms 8s
}

func ExampleSchedule_Delay() {
	s := fastbackoff.DynamoDB()
	fmt.Println(s.Delay(fastbackoff.Transient, 0, fastbackoff.Fixed(0.5).Uint64()))
	// Output: 12.5ms
}
