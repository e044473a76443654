package fasthttpretry_test

import (
	"net"
	"strings"
	"time"

	"github.com/reprise-go/reprise/engine"
)

// dribble sends an answer byte by byte, more than a second long in all, as long as
// somebody listens.
func dribble(conn net.Conn) bool {
	for _, b := range []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") {
		if _, err := conn.Write([]byte{b}); err != nil {
			return false
		}
		<-time.After(40 * ms)
	}
	return false
}

// oddFaults is the part of the table that servers should not send. Where doors
// differ, each has a row, and the row says why the others are not in it.
func oddFaults() []fault {
	const ok = "HTTP/1.1 200 OK\r\n"
	lines := func(text ...string) script { return raw(strings.Join(text, ""), false) }
	recovers := func(name string, s script) fault {
		return fault{name: name, script: []script{s, say(200, "hello")}, retries: []retry{transient(50*ms - near)}, stop: none, left: 500, hits: 2}
	}
	final := func(name string, s script) fault {
		return fault{name: name, script: []script{s}, stop: engine.ReasonNonRetryable, left: 500, hits: 1}
	}
	success := func(name string, s script) fault {
		return fault{name: name, script: []script{s}, stop: none, left: 500, hits: 1}
	}
	// but is a row that is not for some doors.
	but := func(f fault, why string, doors ...string) fault {
		f.differs = make(map[string]string)
		for _, d := range doors {
			f.differs[d] = why
		}
		return f
	}
	slow := recovers("95: a head byte by byte", dribble)
	slow.attempt = 250 * ms

	early := "HTTP/1.1 103 Early Hints\r\n\r\n"
	large := lines(ok, "Content-Length: 5\r\nX-Large: ", strings.Repeat("x", 8<<10), "\r\n\r\nhello")
	badChunk := lines(ok, "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n")
	return []fault{
		final("599", say(599, "")),
		final("505", say(505, "")),
		final("999", say(999, "")),
		final("a status of four digits", lines("HTTP/1.1 1000 Odd\r\nContent-Length: 0\r\n\r\n")),
		final("a status of letters", lines("HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n")),

		success("121: 103, then 200", lines(early, ok, "Content-Length: 5\r\n\r\nhello")),
		recovers("100 and no more", lines("HTTP/1.1 100 Continue\r\n\r\n")),
		recovers("103 and no more", lines(early)),
		recovers("seven times 103 and no more", lines(strings.Repeat(early, 7))),

		final("garbage", lines("\x16\x03\x01\x02\x00\r\n\x00\xff\r\n\r\n")),
		but(final("garbage without an end of its line", lines("\x16\x03\x01\x02\x00")),
			"it waits for the end of the line, and the connection's is what it sees", "fasthttp"),
		but(recovers("garbage that was cut", lines("\x16\x03\x01\x02\x00")),
			"net/http judges what there is of the line", "Do", "net/http"),
		but(final("an empty line", lines("\r\n")), "it skips empty lines before an answer, so nothing has come", "fasthttp"),
		but(recovers("nothing but an empty line", lines("\r\n")), "to net/http an empty line is a broken answer", "Do", "net/http"),
		final("a header without a colon", lines(ok, "no colon\r\nContent-Length: 5\r\n\r\nhello")),

		but(success("a head of 8 KiB", large), "its client takes heads up to ReadBufferSize, 4 KiB unless set", "fasthttp"),
		but(final("a head above ReadBufferSize", large), "net/http takes heads up to MaxResponseHeaderBytes, 10 MiB unless set", "Do", "net/http"),

		success("more body than said", raw(ok+"Content-Length: 5\r\n\r\nhello, world", true)),
		final("two lengths", lines(ok, "Content-Length: 5\r\nContent-Length: 7\r\n\r\nhello")),
		final("a length of letters", lines(ok, "Content-Length: five\r\n\r\nhello")),
		final("a length below zero", lines(ok, "Content-Length: -5\r\n\r\nhello")),
		but(final("a chunk's length of letters", badChunk), "a success's body is the caller's to read", "net/http"),

		success("Connection: close", lines(ok, "Content-Length: 5\r\nConnection: close\r\n\r\nhello")),
		success("Connection: close for a length", lines(ok, "Connection: close\r\n\r\nhello")),
		success("no length at all", lines(ok, "\r\nhello")),
		recovers("503 and Connection: close", raw("HTTP/1.1 503 Busy\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno", false)),
		recovers("503 and Connection: close for a length", raw("HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\nno", false)),

		slow,
	}
}
