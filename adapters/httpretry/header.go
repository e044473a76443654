package httpretry

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"
)

const (
	invocationHeader = "Amz-Sdk-Invocation-Id"
	attemptHeader    = "Amz-Sdk-Request"
)

// addHeaders adds the headers of attempt n to req, whose header map becomes its
// own: an earlier attempt may still be writing the caller's (R9).
func (x *exchange) addHeaders(req *http.Request, n int) {
	if req.Header = req.Header.Clone(); req.Header == nil {
		req.Header = make(http.Header, 2)
	}
	if req.Header.Get(invocationHeader) == "" {
		if x.id == "" {
			x.id = newUUID()
		}
		req.Header[invocationHeader] = []string{x.id}
	}
	value := append(make([]byte, 0, 24), "attempt="...)
	value = strconv.AppendInt(value, int64(n), 10)
	value = append(value, "; max="...)
	value = strconv.AppendInt(value, int64(x.t.engine.MaxAttempts()), 10)
	req.Header[attemptHeader] = []string{string(value)}
}

// newUUID returns a random UUID, version 4 (RFC 9562).
func newUUID() string {
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
