package main

import (
	"fmt"
	"os/exec"
	"strings"
)

// unexplained compares two versions of the baseline: a row that allows more must
// say why, and not what it said before.
func unexplained(before, after baseline) (faults []string) {
	for _, r := range after.rows {
		old, known := before.find(r.path)
		if known && r.count > old.count && r.reason == old.reason {
			faults = append(faults, fmt.Sprintf("the baseline of %s was raised from %s to %s instructions and still has the reason of the change before, %q: give it one of its own with -update -reason",
				r.path, number(old.count), number(r.count), r.reason))
		}
	}
	return faults
}

// past are the versions of the baseline that git knows, from that of the latest
// commit that changed it back: as many as are asked for. Without git, or its history, there are
// none, which is said and no fault: a release has no history.
func past(commits int) (versions []baseline, note string) {
	log, err := git("log", "--first-parent", "--format=%H", fmt.Sprintf("-%d", commits), "--", baselineFile)
	if err != nil || log == "" {
		return nil, "no history of the baseline here: whether each change had its reason was not checked"
	}
	for _, commit := range strings.Fields(log) {
		text, err := git("show", commit+":./"+baselineFile)
		if err != nil {
			continue // it was deleted there
		}
		b, err := parse(text)
		if err != nil {
			continue // written before it had this form
		}
		versions = append(versions, b)
	}
	return versions, ""
}

func git(args ...string) (string, error) {
	// The checkout may belong to another user, whose history git would not read.
	out, err := exec.Command("git", append([]string{"-c", "safe.directory=*"}, args...)...).Output()
	return string(out), err
}
