package grpcretry

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
)

// pushbackKey is the trailer by which a gRPC server says when to send again, in
// milliseconds, or that the call must not be sent again.
const pushbackKey = "grpc-retry-pushback-ms"

// pushbackOf reads that trailer. A number below zero, or what is no number, is the
// server's word against a retry, and so are several values: refused says so. One
// that is too large for any integer is the longest there is (R5.2).
func pushbackOf(trailer metadata.MD) (delay time.Duration, refused error) {
	values := trailer[pushbackKey]
	if len(values) == 0 {
		return 0, nil
	}
	if len(values) > 1 {
		return 0, &pushbackError{fmt.Sprintf("%d values", len(values))}
	}
	ms, err := strconv.ParseInt(values[0], 10, 64)
	switch {
	// ParseInt finds a number too large before it has seen that it is none.
	case ms < 0, err != nil && !(errors.Is(err, strconv.ErrRange) && digits(values[0])):
		return 0, &pushbackError{values[0]}
	case ms > math.MaxInt64/int64(time.Millisecond):
		return math.MaxInt64, nil
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// digits reports whether an integer is all that s is, but for its sign.
func digits(s string) bool {
	return strings.Trim(s[1:], "0123456789") == ""
}

// pushbackError is why a call is not sent again against the server's will.
type pushbackError struct{ value string }

func (e *pushbackError) Error() string {
	return fmt.Sprintf("reprise/grpcretry: the server asks not to be sent this again (%s: %s)", pushbackKey, e.value)
}
