// Package ratelimit is the adaptive mode's send limiter (R8).
package ratelimit
