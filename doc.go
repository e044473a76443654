// Package reprise is the root of a retry engine for Go that behaves as the AWS
// SDKs' "Retry Behavior 2.1" says. It holds no code: programs import
//
//   - engine, the policy, the call and [engine.Do];
//   - adapters/httpretry, the engine as an http.RoundTripper;
//   - settings, mode and attempts from the environment and AWS's config file;
//   - classify, what an error or a response means for a retry;
//   - atomicbucket, the retry quota;
//   - fastbackoff, the delays;
//   - ratelimit, the send limiter of adaptive mode.
//
// The command cmd/reprise shows, checks and explains what they do. Numbers such
// as R4.2, here and in every package, are clauses of the file RETRY.md beside
// this one.
//
// [engine.Do]: https://pkg.go.dev/github.com/reprise-go/reprise/engine#Do
package reprise
