// Package reprise is the root of a retry engine for Go that behaves as the AWS
// SDKs' "Retry Behavior 2.1" says. It holds no code: programs import
//
//   - engine, the policy, the call and [engine.Do];
//   - classify, what an error or a response means for a retry;
//   - atomicbucket, the retry quota;
//   - fastbackoff, the delays;
//   - adapters/httpretry, the engine as an http.RoundTripper.
//
// [engine.Do]: https://pkg.go.dev/github.com/reprise-go/reprise/engine#Do
package reprise
