package main

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-go/reprise/proof/internal/hot"
)

// reading is what a path was counted to cost.
type reading struct {
	gross, net float64 // instructions of one operation; net: less what the caller would do anyway
	// alike is how many of the loops came to the least count of their length: all
	// but those in which the runtime did something of its own.
	alike, loops int
}

// counts are the readings by the path's name.
type counts map[string]reading

// count has valgrind walk the paths and reads what it has dumped into dir.
func count(dir string, only func(name string) bool, log io.Writer) (counts, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "paths")
	c := exec.CommandContext(context.Background(), "valgrind",
		"--tool=callgrind", "--callgrind-out-file="+out, "--separate-threads=yes",
		"--dump-instr=yes", "--dump-line=no", "--compress-pos=no", self, measureWord)
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GODEBUG=") || strings.HasPrefix(v, "GOGC=") || strings.HasPrefix(v, "GOMEMLIMIT=") ||
			strings.HasPrefix(v, "GOMAXPROCS=")
	}), "GODEBUG=asyncpreemptoff=1", onlyVariable+"="+names(only))
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, errors.New("valgrind is not installed: apt-get install valgrind (make instructions does it for root)")
		}
		return nil, fmt.Errorf("%w: %s", err, said.Bytes())
	}
	padding, err := paddingOf(self)
	if err != nil {
		return nil, err
	}
	read := make(counts)
	dump := 0
	for _, path := range hot.Paths() {
		if !only(path.Name) {
			continue
		}
		plan := planOf(path)
		var short, long []int
		for range plan.rounds {
			for _, loop := range []*[]int{&short, &long} {
				dump++
				n, err := readDump(fmt.Sprintf("%s.%d-01", out, dump), padding)
				if err != nil {
					return nil, err
				}
				*loop = append(*loop, n)
			}
		}
		s, l := slices.Min(short), slices.Min(long)
		read[path.Name] = reading{
			gross: float64(l-s) / float64(plan.long-plan.short),
			alike: equal(short, s) + equal(long, l),
			loops: len(short) + len(long),
		}
		fmt.Fprintf(log, "%s: dumps %d to %d, least %d and %d in all\n", path.Name, dump-2*plan.rounds+1, dump, s, l)
	}
	for name, r := range read {
		r.net = r.gross - read[over(name)].gross
		read[name] = r
	}
	return read, nil
}

// over is the path beneath another, "" if there is none.
func over(name string) string {
	paths := hot.Paths()
	return paths[slices.IndexFunc(paths, func(p hot.Path) bool { return p.Name == name })].Over
}

// equal is how many of the numbers are n.
func equal(of []int, n int) (equal int) {
	for _, v := range of {
		if v == n {
			equal++
		}
	}
	return equal
}

// names are the paths that are wanted.
func names(only func(string) bool) string {
	var all []string
	for _, path := range hot.Paths() {
		if only(path.Name) {
			all = append(all, path.Name)
		}
	}
	return strings.Join(all, " ")
}

// paddingOf returns whether the instruction at an address of a program is one that
// does nothing. The compiler puts them in so that no jump lies across 32 bytes: how
// many there are depends on how long the code before them is, and they cost next to
// nothing.
func paddingOf(program string) (func(address uint64) bool, error) {
	file, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	section := file.Section(".text")
	if section == nil {
		return nil, fmt.Errorf("%s has no .text", program)
	}
	text, err := section.Data()
	if err != nil {
		return nil, err
	}
	return func(address uint64) bool {
		if address < section.Addr || address-section.Addr >= uint64(len(text)) {
			return false // of another file, such as libc
		}
		return isPadding(text[address-section.Addr:])
	}, nil
}

func isPadding(code []byte) bool {
	code = bytes.TrimLeft(code[:min(len(code), 15)], "\x66")
	return bytes.HasPrefix(code, []byte{0x90}) || bytes.HasPrefix(code, []byte{0x0f, 0x1f})
}

// readDump adds up a dump of callgrind: an instruction's address and how often it
// ran, a line each. What follows a line "calls=" is what a called function cost,
// which has lines of its own.
func readDump(name string, padding func(uint64) bool) (instructions int, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	fault := func(line string) error { return fmt.Errorf("%s is no dump of callgrind: %q", name, line) }
	body, called, total := false, false, -1
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if summary, ok := strings.CutPrefix(line, "summary: "); ok {
			if total, err = strconv.Atoi(summary); err != nil {
				return 0, fault(line)
			}
		}
		switch {
		case strings.HasPrefix(line, "calls="):
			called = true
			continue
		case !strings.HasPrefix(line, "0x"):
			continue
		case called:
			called = false
			continue
		}
		body = true
		fields := strings.Fields(line)
		address, err := strconv.ParseUint(strings.TrimPrefix(fields[0], "0x"), 16, 64)
		n, err2 := strconv.Atoi(fields[len(fields)-1])
		if err != nil || err2 != nil || len(fields) < 2 {
			return 0, fault(line)
		}
		total -= n
		if !padding(address) {
			instructions += n
		}
	}
	if !body || total != 0 {
		return 0, fmt.Errorf("%s is no dump of callgrind whose lines come to its summary: %d are left", name, total)
	}
	return instructions, nil
}
