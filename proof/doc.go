// Package proof holds tests of the whole that need more than the core module
// may require. It exports nothing.
package proof
