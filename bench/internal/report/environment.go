package report

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// peers are the modules whose versions a report names.
var peers = []string{
	"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "github.com/failsafe-go/failsafe-go",
	"github.com/cenkalti/backoff/v5", "github.com/avast/retry-go/v4", "github.com/sethvargo/go-retry",
	"github.com/hashicorp/go-retryablehttp", "golang.org/x/time", "go.uber.org/ratelimit",
	"github.com/sony/gobreaker/v2", "github.com/valyala/fastrand",
}

// Environment is the machine, the commit, the day and the peers' versions, of
// which the program itself knows what it was built from.
func Environment() []benchfmt.Config {
	var all []benchfmt.Config
	add := func(key, value string) {
		if value != "" {
			all = append(all, benchfmt.Config{Key: key, Value: []byte(value), File: true})
		}
	}
	add("goos", runtime.GOOS)
	add("goarch", runtime.GOARCH)
	add("go", runtime.Version())
	add("cpu", cpuName())
	add("cores", strconv.Itoa(runtime.NumCPU()))
	add("date", time.Now().UTC().Format(time.DateOnly))
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return all
	}
	commit := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))] + commit
		case s.Key == "vcs.modified" && s.Value == "true":
			commit += " and changes"
		}
	}
	if commit == "" { // built in a linked work tree, which go does not look into
		if out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output(); err == nil {
			commit = strings.TrimSpace(string(out))
		}
	}
	add("commit", commit)
	for _, m := range info.Deps {
		if slices.Contains(peers, m.Path) {
			add("peer-"+strings.ReplaceAll(m.Path, "/", "-"), m.Version)
		}
	}
	return all
}

// cpuName is what Linux calls the processor, "" elsewhere.
func cpuName() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
