package faulty

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"
)

// Fault answers a request in the place of the service, which it may use.
type Fault func(w http.ResponseWriter, r *http.Request, service http.Handler)

// Pass is no fault: the service answers.
func Pass(w http.ResponseWriter, r *http.Request, service http.Handler) { service.ServeHTTP(w, r) }

// Code answers with a status and an error code, as DynamoDB spells it.
func Code(status int, code string) Fault {
	return CodeWith(status, code, nil)
}

// CodeWith is [Code] with further members in the body.
func CodeWith(status int, code string, members map[string]any) Fault {
	body := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": "made up"}
	for name, value := range members {
		body[name] = value
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic("reprise/faulty: CodeWith: " + err.Error())
	}
	return Text(status, "application/x-amz-json-1.0", string(text))
}

// Text answers with a status and a body.
func Text(status int, contentType, body string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// HTML answers with a status and a page, as a load balancer does.
func HTML(status int) Fault {
	return Text(status, "text/html", "<html><body><h1>"+http.StatusText(status)+"</h1></body></html>")
}

// Header sets a header of another fault's answer: X-Amz-Retry-After, X-Amz-Crc32.
func Header(name, value string, fault Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		w.Header().Set(name, value)
		fault(w, r, service)
	}
}

// Skewed sends another fault's answer from a service whose clock is ahead.
func Skewed(ahead time.Duration, fault Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		Header("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat), fault)(w, r, service)
	}
}

// Undated sends another fault's answer without a Date.
func Undated(fault Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		w.Header()["Date"] = nil
		fault(w, r, service)
	}
}

// After answers late.
func After(d time.Duration, fault Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			fault(w, r, service)
		case <-r.Context().Done():
		}
	}
}

// Reset breaks the connection before there is an answer.
func Reset(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return // broken already
	}
	reset(conn)
}

// Half sends the first half of the service's answer, whose length it announces,
// and breaks the connection.
func Half(w http.ResponseWriter, r *http.Request, service http.Handler) { half(w, r, service, reset) }

// Short is [Half] with a connection that is closed and not broken.
func Short(w http.ResponseWriter, r *http.Request, service http.Handler) {
	half(w, r, service, func(conn net.Conn) { _ = conn.Close() })
}

func half(w http.ResponseWriter, r *http.Request, service http.Handler, end func(net.Conn)) {
	answer := httptest.NewRecorder()
	service.ServeHTTP(answer, r)
	body := answer.Body.Bytes()
	conn, out, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer end(conn)
	_, _ = out.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n")
	_, _ = out.Write(body[:len(body)/2])
	_ = out.Flush()
}

// reset closes a connection so that the other end sees that it was broken.
func reset(conn net.Conn) {
	switch conn := conn.(type) {
	case *end:
		conn.reset()
	case *net.TCPConn:
		_ = conn.SetLinger(0)
	}
	_ = conn.Close()
}
