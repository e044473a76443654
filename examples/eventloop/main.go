// Command eventloop makes sixty calls at once over one UDP socket, in one
// goroutine: the engine decides, and the loop keeps the time. A server on
// 127.0.0.1 loses some requests and is too busy for others. Some three seconds.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"slices"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

const (
	calls          = 60
	attemptTimeout = 2 * time.Second  // an answer that takes longer is lost
	callTimeout    = 10 * time.Second // for a call with all its attempts
)

// call is what the loop knows of one call: no goroutine, no timer, no context.
type call struct {
	engine.Call
	id   int
	over time.Time // when the call must have ended
	sent bool      // an attempt is under way; else the next one waits to be sent
	due  time.Time // when that attempt is given up, or the next one is sent
}

// loop has the calls that have not ended.
type loop struct {
	conn    *net.UDPConn
	open    map[int]*call
	retried map[classify.Class]int
	ended   map[string]int
}

func run(out io.Writer) error {
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	defer server.Close()
	go serve(server)
	conn, err := net.DialUDP("udp4", nil, server.LocalAddr().(*net.UDPAddr))
	if err != nil {
		return err
	}
	defer conn.Close()

	e, err := engine.New()
	if err != nil {
		return err
	}
	l := &loop{conn, map[int]*call{}, map[classify.Class]int{}, map[string]int{}}
	now := time.Now()
	for id := range calls {
		l.open[id] = &call{Call: e.Begin(), id: id, over: now.Add(callTimeout), due: now}
	}
	l.open[20].over = now.Add(attemptTimeout) // somebody in a hurry
	if err := l.turn(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d calls in flight, in one goroutine: %d succeeded\n", calls, l.ended["success"])
	fmt.Fprintf(out, "sent again: %d lost requests, %d answered busy\n", l.retried[classify.Transient], l.retried[classify.Throttling])
	fmt.Fprintf(out, "past its deadline: %d\n", l.ended[engine.ReasonDeadline.String()])
	fmt.Fprintf(out, "%d of %d tokens left\n", e.Stats().QuotaLevel, e.Stats().QuotaCapacity)
	return nil
}

// turn waits for an answer or for what is due first, whichever comes earlier,
// until all calls have ended.
func (l *loop) turn() error {
	packet := make([]byte, 64)
	for len(l.open) > 0 {
		var next *call // a heap finds it faster among thousands
		for _, c := range l.open {
			if next == nil || c.due.Before(next.due) {
				next = c
			}
		}
		if now := time.Now(); !next.sent && !next.due.After(now) {
			if err := l.send(next, now); err != nil {
				return err
			}
			continue
		}
		if err := l.conn.SetReadDeadline(next.due); err != nil {
			return err
		}
		n, err := l.conn.Read(packet)
		now := time.Now()
		switch {
		case err == nil:
			l.answered(string(packet[:n]), now)
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case next.sent:
			l.failed(next, now, classify.Transient)
		}
	}
	return nil
}

// send makes the next attempt, or has it wait where adaptive mode says so.
func (l *loop) send(c *call, now time.Time) error {
	if wait := c.AdmitAt(now); wait > 0 {
		c.due = now.Add(wait)
		return nil
	}
	c.sent, c.due = true, now.Add(attemptTimeout)
	_, err := fmt.Fprintf(l.conn, "%d %d", c.id, c.Attempts())
	return err
}

// answered takes an answer, unless its attempt has been given up.
func (l *loop) answered(packet string, now time.Time) {
	var id, attempt int
	var says string
	if _, err := fmt.Sscan(packet, &id, &attempt, &says); err != nil {
		return
	}
	switch c := l.open[id]; {
	case c == nil || !c.sent || attempt != c.Attempts():
	case says == "busy":
		l.failed(c, now, classify.Throttling)
	default:
		c.SucceedAt(now)
		l.end(c, "success")
	}
}

// failed asks the engine whether and when the call goes on.
func (l *loop) failed(c *call, now time.Time, class classify.Class) {
	d := c.FailAt(now, engine.Outcome{Class: class, Deadline: c.over})
	if d.Reason != engine.ReasonRetry {
		l.end(c, d.Reason.String())
		return
	}
	l.retried[class]++
	c.sent, c.due = false, now.Add(d.Delay)
}

func (l *loop) end(c *call, how string) {
	l.ended[how]++
	delete(l.open, c.id)
}

// serve loses the first attempt of one call in ten, and is too busy for another.
func serve(conn *net.UDPConn) {
	packet := make([]byte, 64)
	for {
		n, from, err := conn.ReadFromUDP(packet)
		if err != nil {
			return
		}
		var id, attempt int
		if _, err := fmt.Sscan(string(packet[:n]), &id, &attempt); err != nil {
			continue
		}
		says := "ok"
		if attempt == 1 && slices.Contains([]int{0, 7}, id%10) {
			if id%10 == 0 {
				continue
			}
			says = "busy"
		}
		_, _ = conn.WriteToUDP(fmt.Appendf(nil, "%d %d %s", id, attempt, says), from)
	}
}
