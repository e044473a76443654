package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal is one of 80 columns: what is written to its far end, and the near end,
// which a command takes for a terminal.
func terminal(t *testing.T) (screen io.Reader, near *os.File) {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = far.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(far.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(far.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	near, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(near.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	return far, near
}

// onTerminal runs a command line whose standard error is a terminal.
func onTerminal(t *testing.T, args ...string) (code int, out, shown string) {
	t.Helper()
	screen, near := terminal(t)
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(screen) // which ends with an error, as the near end closes
		read <- string(text)
	}()
	var stdout bytes.Buffer
	code = run(args, &stdout, near)
	require.NoError(t, near.Close())
	return code, stdout.String(), <-read
}

// The calculator shows how far it is, on a terminal alone.
func TestTheCalculatorsBar(t *testing.T) {
	code, out, shown := onTerminal(t, strings.Fields("storm --size --transient 20% --amplification 1.2 --deadline 1s")...)
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, shown, "size [")
	assert.Contains(t, shown, "calculating what would do, ")
	drawn, said, _ := strings.Cut(shown, "reprise: ")
	assert.Contains(t, said, "size: no plan lets 99.9% of the calls succeed")
	for line := range strings.Lines(regexp.MustCompile(`\x1b\[\d*[A-Z]`).ReplaceAllString(drawn, "")) {
		assert.LessOrEqual(t, len(strings.TrimRight(line, "\r\n")), 80, line)
	}
	code, out, shown = onTerminal(t, "storm", "--size", "--quiet")
	assert.Zero(t, code, shown)
	assert.NotEmpty(t, out)
	assert.Empty(t, shown)
}

// Ctrl-C ends the calculator whatever it is at.
func TestASignalEndsTheCalculator(t *testing.T) {
	for _, row := range []struct{ args, at string }{
		{"--transient 60% --success 90% --amplification 5", "calculating"},
		{"--rate 1e7 --clients 100000", "simulating"},
	} {
		dir := t.TempDir()
		screen, near := terminal(t)
		cmd := child(t, append([]string{"storm", "--size", "--html", filepath.Join(dir, "size.html")}, strings.Fields(row.args)...)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, near
		require.NoError(t, cmd.Start())
		require.NoError(t, near.Close())
		shown, piece := "", make([]byte, 4096)
		for !strings.Contains(shown, row.at) {
			n, err := screen.Read(piece)
			require.NoError(t, err, shown)
			shown += string(piece[:n])
		}
		go func() { _, _ = io.Copy(io.Discard, screen) }()
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		require.Error(t, cmd.Wait())
		assert.Equal(t, 130, cmd.ProcessState.ExitCode(), row.args)
		assert.Empty(t, out.String(), row.args)
		assert.Empty(t, list(t, dir), row.args)
	}
}

// On a terminal of 80 columns no line of a table is broken: tables go without their blanks there.
func TestTablesFitTheTerminal(t *testing.T) {
	file := scenarioFile(t, "checkout.yaml", checkout)
	_, wide, _ := reprise("storm", file, "-q")
	assert.Regexp(t, `│ +p99 │`, wide, "a pipe has all of it")
	vectors := filepath.Join("..", "..", "testdata", "vectors", "adaptive.json")
	for args, shows := range map[string]string{"storm -q " + file: "p99│", "storm -q --size": "p99│", "replay -v " + vectors: "│ measured rate │"} {
		screen, near := terminal(t)
		read := make(chan string)
		go func() {
			text, _ := io.ReadAll(screen)
			read <- string(text)
		}()
		var stderr bytes.Buffer
		assert.Zero(t, run(strings.Fields(args), near, &stderr), stderr.String())
		require.NoError(t, near.Close())
		shown := <-read
		assert.Contains(t, shown, shows)
		for line := range strings.Lines(shown) {
			if strings.HasPrefix(line, vectors) {
				continue // a sentence with the file's own words
			}
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\r\n")), 80, line)
		}
	}
}
