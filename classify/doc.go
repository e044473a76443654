// Package classify decides what a failure means for a retry: transient,
// throttling, or not retryable (R3).
package classify
