package path

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/bench/internal/peer"
	"github.com/reprise-go/reprise/classify"
)

// The SDK asks two questions about a failure: is it retryable, and, for its cost
// and its delay, is it a throttle.
var (
	awsRetryables = retry.IsErrorRetryables(retry.DefaultRetryables)
	awsThrottles  = retry.IsErrorThrottles(retry.DefaultThrottles)
)

func awsClass(err error) classify.Class {
	switch {
	case !awsRetryables.IsErrorRetryable(err).Bool():
		return classify.NonRetryable
	case awsThrottles.IsErrorThrottle(err).Bool():
		return classify.Throttling
	default:
		return classify.Transient
	}
}

// failures are the errors that are classified, with what they are.
var failures = []struct {
	name, what string
	err        func() error
	class      classify.Class
}{
	{"answer", "a throttling answer of an AWS service, as the SDK has it: three errors in a chain", peer.Throttled, classify.Throttling},
	{"status", "a bare 503 of the same", func() error { return peer.Answer(http.StatusServiceUnavailable, "") }, classify.Transient},
	{"dial", "a refused connection, as net/http's client returns it: four errors in a chain", refusedDial, classify.Transient},
	{"eof", "a connection that ended too early", func() error {
		return &url.Error{Op: "Get", URL: "http://127.0.0.1/", Err: io.ErrUnexpectedEOF}
	}, classify.Transient},
	{"final", "an answer that no retry can mend", peer.Final, classify.NonRetryable},
	{"plain", "an error that says nothing", func() error { return errors.New("plain") }, classify.NonRetryable},
}

func refusedDial() error {
	return &url.Error{Op: "Get", URL: "http://127.0.0.1/", Err: &net.OpError{
		Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	}}
}

// tally keeps what the loops find out.
//
//go:noinline
func tally(classify.Class) {}

func classes() []Path {
	var paths []Path
	for _, f := range failures {
		paths = append(paths, Path{
			Name: "classify-" + f.name,
			What: "The class of " + f.what + ", met before.",
			Sides: []Side{
				side("reprise", func() measure.Loop {
					err := f.err()
					return func(n int) {
						var sum classify.Class
						for range n {
							sum += classify.Default.Error(err)
						}
						tally(sum)
					}
				}),
				side("aws-standard", func() measure.Loop {
					err := f.err()
					return func(n int) {
						var sum classify.Class
						for range n {
							sum += awsClass(err)
						}
						tally(sum)
					}
				}),
			},
		})
	}
	return append(paths,
		Path{
			Name: "classify-first",
			What: "The class of an error whose type the process has never met, 512 such in a fresh process: the runtime finds out for each type which interfaces it has.",
			Sides: []Side{
				{Impl: "reprise", Fresh: func() (int, time.Duration) { return classifyAll(1, classify.Default.Error) }},
				{Impl: "aws-standard", Fresh: func() (int, time.Duration) { return classifyAll(1, awsClass) }},
			},
		},
		Path{
			Name: "classify-cold",
			What: "The same 512 a second time: the runtime knows the types, the caches at the places that ask do not, as they learn one in a thousand.",
			Sides: []Side{
				{Impl: "reprise", Fresh: func() (int, time.Duration) { return classifyAll(2, classify.Default.Error) }},
				{Impl: "aws-standard", Fresh: func() (int, time.Duration) { return classifyAll(2, awsClass) }},
			},
		},
	)
}

// classifyAll classifies errors of many types, each once in a round, and takes
// the time of the last round.
func classifyAll(rounds int, class func(error) classify.Class) (n int, elapsed time.Duration) {
	errs := strangers()
	for range rounds {
		start := time.Now()
		for _, err := range errs {
			if class(err) != classify.Throttling {
				panic(err)
			}
		}
		elapsed = time.Since(start)
	}
	return len(errs), elapsed
}
