package atomicbucket_test

import (
	"fmt"
	"log"

	"github.com/reprise-go/reprise/atomicbucket"
)

func ExampleBucket() {
	b, err := atomicbucket.New(20) // a new one is full (R6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("a retry takes 14:", b.TryTake(14), b.Level())
	fmt.Println("the next one's are not there:", b.TryTake(14), b.Level())
	b.Give(14) // the first succeeded
	fmt.Println("full again:", b.Full())
	b.Give(1)
	fmt.Println("and no fuller:", b.Level())
	// Output:
	// a retry takes 14: true 6
	// the next one's are not there: false 6
	// full again: true
	// and no fuller: 20
}
