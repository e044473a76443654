package main

import (
	"fmt"
	"os"
)

func Example() {
	if err := run(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// span /first
	// span /second
	//   http.request.resend_count=1
	//   reprise.retry reprise.attempts=1 reprise.class=transient reprise.reason=retry reprise.quota.tokens=486 reprise.delay=0
	// span /third
	//   http.request.resend_count=2
	//   reprise.retry reprise.attempts=1 reprise.class=transient reprise.reason=retry reprise.quota.tokens=486 reprise.delay=0
	//   reprise.retry reprise.attempts=2 reprise.class=throttling reprise.reason=retry reprise.quota.tokens=481 reprise.delay=0
	//   reprise.stop reprise.attempts=3 reprise.class=transient reprise.reason=max_attempts reprise.quota.tokens=481
	// reprise_attempts_total{engine="orders",key=""} 6
	// reprise_calls_total{engine="orders",key=""} 3
	// reprise_quota_capacity_tokens{engine="orders",key=""} 500
	// reprise_quota_tokens{engine="orders",key=""} 481
	// reprise_recoveries_total{engine="orders",key=""} 1
	// reprise_retries_total{class="throttling",engine="orders",key=""} 1
	// reprise_retries_total{class="transient",engine="orders",key=""} 2
	// reprise_stops_total{engine="orders",key="",reason="max_attempts"} 1
}
