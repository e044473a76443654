package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/reprise-go/reprise/proof/upstreams/internal/child"
)

// round is what one round measured of one gateway.
type round struct {
	throughput float64 // requests a second; wrk's
	cpu        float64 // microseconds of the gateway for a request
	allocs     float64 // objects that it allocated for a request
	bytes      float64
	p50, p99   float64 // microseconds; vegeta's
}

// process is a gateway or the upstream, in a process of its own.
type process struct {
	*child.Process
	url string
}

func startGateway(args ...string) (p *process, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	socket, addr, err := child.Socket("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{gatewayWord}, args...)...)
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, []*os.File{socket}
	p = &process{url: "http://" + addr}
	if p.Process, err = child.Start(cmd); err != nil {
		return nil, err
	}
	if err := p.Ready(p.url+usagePath, &http.Transport{}); err != nil {
		return nil, errors.Join(err, p.Stop(syscall.SIGTERM))
	}
	return p, nil
}

func (p *process) used() (u usage, err error) {
	response, err := http.Get(p.url + usagePath)
	if err != nil {
		return u, err
	}
	defer response.Body.Close()
	return u, json.NewDecoder(response.Body).Decode(&u)
}

// load is a way to send requests; it returns how many were answered, all of them
// with 200.
type load func(url string) (requests int, r round, err error)

// measure runs one round.
func (p *process) measure(l load) (round, error) {
	before, err := p.used()
	if err != nil {
		return round{}, err
	}
	n, r, err := l(p.url + "/x")
	if err != nil {
		return round{}, err
	}
	after, err := p.used()
	if err != nil {
		return round{}, err
	}
	each := 1 / float64(max(n, 1))
	r.cpu = float64(after.CPUNanos-before.CPUNanos) / 1e3 * each
	r.allocs = float64(after.Mallocs-before.Mallocs) * each
	r.bytes = float64(after.Bytes-before.Bytes) * each
	return r, nil
}

// wrk asks for a second as fast as it is answered.
func wrk(path string, connections int) load {
	return func(url string) (int, round, error) {
		cmd := exec.Command(path, "-t1", "-c", strconv.Itoa(connections), "-d1s", url)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return 0, round{}, fmt.Errorf("wrk: %w: %s", err, out)
		}
		n, throughput, err := readWrk(out)
		return n, round{throughput: throughput}, err
	}
}

var (
	wrkRequests = regexp.MustCompile(`(?m)^ *(\d+) requests in `)
	wrkRate     = regexp.MustCompile(`(?m)^Requests/sec: *([0-9.]+)$`)
	wrkWrong    = regexp.MustCompile(`(?m)^ *(Non-2xx or 3xx responses|Socket errors):.*$`)
)

// readWrk reads what wrk prints. A failed request is an error: the upstream was
// to be well.
func readWrk(out []byte) (requests int, throughput float64, err error) {
	n, rate := wrkRequests.FindSubmatch(out), wrkRate.FindSubmatch(out)
	if n == nil || rate == nil {
		return 0, 0, fmt.Errorf("wrk said nothing of its requests: %s", out)
	}
	if wrong := wrkWrong.Find(out); wrong != nil {
		return 0, 0, fmt.Errorf("wrk had failures: %s", bytes.TrimSpace(wrong))
	}
	if requests, err = strconv.Atoi(string(n[1])); err != nil {
		return 0, 0, err
	}
	throughput, err = strconv.ParseFloat(string(rate[1]), 64)
	return requests, throughput, err
}

// paced asks at a fixed rate, whatever the answers take.
func paced(rate int, last time.Duration) load {
	return func(url string) (int, round, error) {
		target := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: url})
		attacker := vegeta.NewAttacker(vegeta.Connections(256), vegeta.MaxWorkers(256), vegeta.Timeout(10*time.Second))
		var m vegeta.Metrics
		for result := range attacker.Attack(target, vegeta.Rate{Freq: rate, Per: time.Second}, last, "") {
			m.Add(result)
		}
		m.Close()
		if m.Success < 1 {
			return 0, round{}, fmt.Errorf("vegeta had failures: %v, %v", m.StatusCodes, m.Errors)
		}
		micros := func(d time.Duration) float64 { return float64(d) / 1e3 }
		return int(m.Requests), round{p50: micros(m.Latencies.P50), p99: micros(m.Latencies.P99)}, nil
	}
}

// pair is a kind of gateway, which blocks run bare and with its door.
type pair struct{ kind, upstream string }

// warmUp comes before a block's first round.
var warmUp = paced(1000, 100*time.Millisecond)

// blocks runs blocks, each with processes of its own: one process may keep for
// its life what another has not, such as more connections, and that is no door's
// doing.
func (p pair) blocks(n int, l load, progress io.Writer) (all []block, err error) {
	for range n {
		b, err := p.block(l)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
		_, _ = fmt.Fprint(progress, ".")
	}
	return all, nil
}

// block runs rounds in the order bare, door, door, bare.
func (p pair) block(l load) (b block, err error) {
	begin := func(args ...string) *process {
		if err != nil {
			return nil
		}
		var started *process
		if started, err = startGateway(append(args, "-kind="+p.kind, "-upstream="+p.upstream)...); err == nil {
			_, err = started.measure(warmUp)
		}
		return started
	}
	bare := begin()
	door := begin("-door")
	defer func() {
		for _, started := range []*process{bare, door} {
			if started != nil {
				err = errors.Join(err, started.Stop(syscall.SIGTERM))
			}
		}
	}()
	for _, one := range []struct {
		of *process
		to *round
	}{{bare, &b.bare[0]}, {door, &b.door[0]}, {door, &b.door[1]}, {bare, &b.bare[1]}} {
		if err == nil {
			*one.to, err = one.of.measure(l)
		}
	}
	return b, err
}
