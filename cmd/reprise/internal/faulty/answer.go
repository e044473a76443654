package faulty

import (
	"io"
	"net"
	"net/http"
	"strconv"
)

const (
	okBody = `{"Item":{"pk":{"S":"customer#1042"},"total":{"N":"17"},"state":{"S":"shipped"}}}`

	throughputExceeded = `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",` +
		`"message":"The level of configured provisioned throughput for the table was exceeded."}`

	unavailablePage = "<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n" +
		"<body>\r\n<center><h1>503 Service Temporarily Unavailable</h1></center>\r\n</body>\r\n</html>\r\n"

	// cutLength is what a cut answer promises; it sends okBody only.
	cutLength = 4096
)

func answerOK(w http.ResponseWriter) {
	answer(w, http.StatusOK, "application/x-amz-json-1.0", okBody)
}

func answerThrottled(w http.ResponseWriter) {
	answer(w, http.StatusBadRequest, "application/x-amz-json-1.0", throughputExceeded)
}

func answer(w http.ResponseWriter, status int, contentType, body string) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// The client may be gone, which is its right.
	_, _ = io.WriteString(w, body)
}

// reset closes the connection so that the client's read fails with "connection
// reset by peer". Linger 0 sends RST and keeps no socket in TIME_WAIT, which a
// million calls could otherwise run out of ports with.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// cut promises more than it sends and hangs up in good order: the client's
// read of the body ends in an unexpected EOF.
func cut(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("Content-Length", strconv.Itoa(cutLength))
	_, _ = io.WriteString(w, okBody)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
