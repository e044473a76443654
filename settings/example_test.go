package settings_test

import (
	"fmt"
	"testing/fstest"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/settings"
)

// An engine as the operator wants it, but for what the program insists on.
func ExampleLoad() {
	s, err := settings.Load(settings.Opts{Getenv: func(name string) string {
		return map[string]string{"AWS_MAX_ATTEMPTS": "5"}[name]
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	asTold, _ := engine.New(s.Options()...)
	careful, _ := engine.New(append(s.Options(), engine.WithMaxAttempts(2))...)
	fmt.Println(asTold.MaxAttempts(), careful.MaxAttempts())
	// Output: 5 2
}

// A program that brings its own file and environment.
func ExampleLoad_embedded() {
	s, err := settings.Load(settings.Opts{
		File:    "/etc/app/retries",
		Profile: "batch",
		FS: fstest.MapFS{"etc/app/retries": {Data: []byte(
			"[profile batch]\nretry_mode = adaptive\nmax_attempts = 8\n")}},
		Getenv: func(string) string { return "" },
	})
	fmt.Println(s.Mode.Value(), s.MaxAttempts.Value(), err)
	// Output: adaptive 8 <nil>
}

// What decided, for people.
func ExampleSettings_String() {
	s, _ := settings.Load(settings.Opts{
		FS: fstest.MapFS{"srv/.aws/config": {Data: []byte("[default]\nmax_attempts = 7\n")}},
		Getenv: func(name string) string {
			return map[string]string{"HOME": "/srv", "USERPROFILE": "/srv", "AWS_MAX_ATTEMPTS": "5"}[name]
		},
	})
	fmt.Println(s.MaxAttempts)
	fmt.Println("---")
	fmt.Println(s)
	// Output:
	// 5 (AWS_MAX_ATTEMPTS); file said 7
	// ---
	// retry_mode = standard (default)
	// max_attempts = 5 (AWS_MAX_ATTEMPTS); file said 7
	// profile = default (default)
	// config file = /srv/.aws/config (default)
}

// A bad value says what it is, where it stands and what would be right.
func ExampleLoad_badValue() {
	_, err := settings.Load(settings.Opts{Getenv: func(name string) string {
		return map[string]string{"AWS_RETRY_MODE": "fast"}[name]
	}})
	fmt.Println(err)
	// Output: reprise/settings: retry_mode = "fast" (AWS_RETRY_MODE): want standard, adaptive or legacy
}
