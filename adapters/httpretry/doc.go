// Package httpretry is the retry engine as an [http.RoundTripper]: existing code
// gets retries by changing the transport of its client.
package httpretry
