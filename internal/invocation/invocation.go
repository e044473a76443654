// Package invocation makes the headers by which an AWS endpoint tells the attempts
// of one call from other calls (R9).
package invocation

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
)

const (
	// IDHeader names the header with the call's id, the same on all attempts.
	IDHeader = "Amz-Sdk-Invocation-Id"
	// AttemptHeader names the header with the attempt's number.
	AttemptHeader = "Amz-Sdk-Request"
)

// Attempt returns the value of AttemptHeader for attempt n, from 1, of limit at
// the most (R9). Wait-free.
func Attempt(n, limit int) string {
	value := append(make([]byte, 0, 24), "attempt="...)
	value = strconv.AppendInt(value, int64(n), 10)
	value = append(value, "; max="...)
	return string(strconv.AppendInt(value, int64(limit), 10))
}

// NewID returns a value of IDHeader: a random UUID, version 4 (RFC 9562). It
// waits for nothing but the system's random numbers.
func NewID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	var s [36]byte
	hex.Encode(s[0:8], u[0:4])
	hex.Encode(s[9:13], u[4:6])
	hex.Encode(s[14:18], u[6:8])
	hex.Encode(s[19:23], u[8:10])
	hex.Encode(s[24:36], u[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
