package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// verdict is what became of a fault.
type verdict string

const (
	caught   verdict = "caught"
	survived verdict = "SURVIVED"
	broken   verdict = "BROKEN" // it does not compile, so no test has caught it
)

type result struct {
	Verdict verdict `json:"verdict"`
	By      string  `json:"by"` // the first test that failed, or what else ended the run
	Seconds float64 `json:"seconds"`
}

// field is where faults are planted: a module and how its tests are run.
type field struct {
	root    string
	timeout time.Duration
}

// stale names the faults whose text is not in their file exactly once.
func (f field) stale(mutants []mutant) error {
	var errs []error
	for _, m := range mutants {
		if _, err := f.mutated(m); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (f field) mutated(m mutant) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(f.root, m.File))
	if err != nil {
		return nil, fmt.Errorf("[%s]: %w", m.Name, err)
	}
	if n := bytes.Count(data, []byte(m.Original)); n != 1 {
		return nil, fmt.Errorf("[%s] is stale: its text is in %s %d times, want once: %q", m.Name, m.File, n, m.Original)
	}
	return bytes.Replace(data, []byte(m.Original), []byte(m.Replacement), 1), nil
}

// sound makes sure that all the tests pass as long as nothing is planted.
func (f field) sound(ctx context.Context, mutants []mutant) error {
	var packages []string
	for _, m := range mutants {
		packages = append(packages, m.Packages...)
	}
	slices.Sort(packages)
	out, err := f.test(ctx, "", slices.Compact(packages))
	if err != nil {
		return fmt.Errorf("the tests fail without a fault: %w\n%s", err, out)
	}
	return nil
}

// plant runs the tests with one fault in its place. The error says that no verdict was reached.
func (f field) plant(ctx context.Context, m mutant) (result, error) {
	text, err := f.mutated(m)
	if err != nil {
		return result{}, err
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(scratch)
	original, err := filepath.Abs(filepath.Join(f.root, m.File))
	if err != nil {
		return result{}, err
	}
	mutated := filepath.Join(scratch, filepath.Base(m.File))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: mutated}})
	if err != nil {
		return result{}, err
	}
	index := filepath.Join(scratch, "overlay.json")
	if err := errors.Join(os.WriteFile(mutated, text, 0o600), os.WriteFile(index, overlay, 0o600)); err != nil {
		return result{}, err
	}
	start := time.Now()
	out, err := f.test(ctx, index, m.Packages)
	if ctx.Err() != nil {
		return result{}, context.Cause(ctx)
	}
	r := judge(out, err)
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

// test is the ordinary test command: go test, with the hammers cut short.
func (f field) test(ctx context.Context, overlay string, packages []string) (string, error) {
	args := []string{"test", "-short", "-count=1", "-failfast", "-timeout", f.timeout.String()}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Dir = f.root
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that go takes its tests along
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	noRun  = regexp.MustCompile(`(?m)\[(build|setup) failed\]`)
	abrupt = regexp.MustCompile(`(?m)^(panic: [^\n]*|fatal error: [^\n]*)`)
)

// judge reads what go test said.
func judge(out string, err error) result {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return result{Verdict: survived}
	case noRun.MatchString(out) || !errors.As(err, &exit):
		return result{Verdict: broken, By: strings.TrimSpace(out)}
	}
	for _, by := range []*regexp.Regexp{failed, abrupt} {
		if found := by.FindStringSubmatch(out); found != nil {
			return result{Verdict: caught, By: found[1]}
		}
	}
	return result{Verdict: broken, By: "no test named itself: " + strings.TrimSpace(out)}
}
