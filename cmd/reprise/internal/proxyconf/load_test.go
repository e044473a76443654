package proxyconf_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

const inYAML = `# shared by all
defaults:
  timeout: 30s
  attempt_timeout: 2s
upstreams:
  - name: orders
    urls: [http://127.0.0.1:9001/v1, http://127.0.0.1:9002/v1]
    hosts: Orders.example
    paths: [/orders, /carts/]
    mode: Adaptive
    coalesce: 100ms
    max_attempts: 4
    quota: {capacity: 1000, transient_cost: 20, throttling_cost: 10}
  - name: rest
    urls: http://[::1]:9003
    service: dynamodb
    attempt_timeout: 0s
    body_limit: 1MiB
    any_method: true
    standard_retry_after: true
    pass_host: true
    backoff:
      transient: 10ms
      max: 5s
`

const inTOML = `
[defaults]
timeout = "30s"
attempt_timeout = "2s"

[[upstreams]]
name = "orders"
urls = ["http://127.0.0.1:9001/v1", "http://127.0.0.1:9002/v1"]
hosts = "Orders.example"
paths = ["/orders", "/carts/"]
mode = "Adaptive"
coalesce = "100ms"
max_attempts = 4
quota = {capacity = 1000, transient_cost = 20, throttling_cost = 10}

[[upstreams]]
name = "rest"
urls = "http://[::1]:9003"
service = "dynamodb"
attempt_timeout = "0s"
body_limit = 1_048_576
any_method = true
standard_retry_after = true
pass_host = true
[upstreams.backoff]
transient = "10ms"
max = "5s"
`

func TestBothFormatsSayTheSame(t *testing.T) {
	for name, text := range map[string]string{"p.yaml": inYAML, "p.yml": "\xef\xbb\xbf" + inYAML, "p.TOML": inTOML} {
		c, err := proxyconf.Parse(name, []byte(text))
		require.NoError(t, err, name)
		require.Len(t, c.Upstreams, 2)
		orders, rest := c.Upstreams[0], c.Upstreams[1]
		assert.Equal(t, "orders", orders.Name)
		require.Len(t, orders.URLs, 2)
		assert.Equal(t, "http://127.0.0.1:9002/v1", orders.URLs[1].String())
		assert.Equal(t, []string{"orders.example"}, orders.Hosts)
		assert.Equal(t, []string{"/orders", "/carts/"}, orders.Paths)
		assert.Equal(t, proxyconf.Settings{
			Mode: engine.Adaptive, MaxAttempts: 4, AttemptTimeout: []time.Duration{2 * time.Second}, Timeout: 30 * time.Second, BodyLimit: 64 << 10,
			Coalesce: 100 * time.Millisecond, Quota: engine.Quota{Capacity: 1000, TransientCost: 20, ThrottlingCost: 10},
		}, orders.Settings)
		assert.Empty(t, rest.Hosts)
		assert.Equal(t, proxyconf.Settings{
			Service: "dynamodb", Timeout: 30 * time.Second, BodyLimit: 1 << 20, AnyMethod: true, StandardRetryAfter: true, PassHost: true,
			Backoff: fastbackoff.Schedule{Transient: 10 * time.Millisecond, Max: 5 * time.Second},
		}, rest.Settings)
	}
}

// Each mistake names file, line and key, and what would be right.
func TestMistakesInFiles(t *testing.T) {
	one := "upstreams:\n- name: a\n  urls: http://127.0.0.1:1\n"
	two := one + "- name: b\n  urls: http://127.0.0.1:2\n  hosts: b.example\n"
	for _, row := range []struct{ name, text, want string }{
		{"p.yaml", one + "  max_atempts: 3\n", "config p.yaml:4: upstreams[0].max_atempts is an unknown key: did you mean max_attempts? want name, urls,"},
		{"p.yaml", one + "  Max-Attempts: 3\n", "did you mean max_attempts?"},
		{"p.yaml", one + "  quota:\n    size: 3\n", "config p.yaml:5: upstreams[0].quota.size is an unknown key: want capacity, transient_cost, throttling_cost"},
		{"p.yaml", "listen: :80\n" + one, "config p.yaml:1: listen is an unknown key: want defaults, upstreams"},
		{"p.yaml", "defaults:\n  name: x\n" + one, "config p.yaml:2: defaults.name is an unknown key"},
		{"p.toml", "[[upstreams]]\nname='a'\nurls='http://127.0.0.1:1'\nmax_atempts = 3\n", "config p.toml:4: upstreams[0].max_atempts is an unknown key: did you mean max_attempts?"},
		{"p.toml", "[[upstreams]]\nname='a'\nurls='http://127.0.0.1:1'\n[[upstreams]]\nname='b'\nurls='http://127.0.0.1:1'\nhosts='b'\n[upstreams.quota]\nsize = 3\n", "config p.toml:9: upstreams[1].quota.size is an unknown key"},
		{"p.toml", "[[upstreams]]\nname='a'\nurls='http://127.0.0.1:1'\nquota={capacity=-1}\n", "config p.toml:4: upstreams[0].quota.capacity is -1: want 1 to"},
		{"p.toml", "[[upstreams]]\nname='a'\nname='b'\n", "config p.toml:3: is not TOML"},
		{"p.toml", "upstreams = 3", "config p.toml:1: upstreams is 3: want a list of tables"},
		{"p.toml", "upstreams = 2024-01-01", "upstreams is"},
		{"p.yaml", one + "  max_attempts: 0\n", "config p.yaml:4: upstreams[0].max_attempts is 0: want 1 or more"},
		{"p.yaml", one + "  max_attempts: -2\n", "max_attempts is -2: want 1 to 2147483647"},
		{"p.yaml", one + "  max_attempts: three\n", `config p.yaml:4: upstreams[0].max_attempts is the text "three": want a whole number`},
		{"p.yaml", one + "  max_attempts: 2.5\n", "max_attempts is 2.5: want a whole number"},
		{"p.yaml", one + "  max_attempts: 99999999999999999999\n", "want a whole number"},
		{"p.yaml", one + "  max_attempts:\n", "max_attempts has no value"},
		{"p.yaml", one + "  any_method: yes please\n", "want true or false"},
		{"p.yaml", one + "  mode: fast\n", `config p.yaml:4: upstreams[0].mode is wrong: unknown mode "fast": want standard, adaptive or legacy`},
		{"p.yaml", one + "  service: dinamodb\n", `config p.yaml:4: upstreams[0].service is wrong: unknown service "dinamodb"`},
		{"p.yaml", one + "  timeout: 5\n", "timeout is 5: want a duration such as"},
		{"p.yaml", one + "  timeout: 5 s\n", `timeout is wrong: "5 s": want a duration such as`},
		{"p.yaml", one + "  timeout: -5s\n", "timeout is -5s: want a duration above zero, or 0s for no limit"},
		{"p.yaml", one + "  attempt_timeout: 2m\n", "attempt_timeout is 2m0s: want no more than the timeout of the whole call, 1m0s"},
		{"p.yaml", one + "  attempt_timeout: [1s, 0s]\n", "attempt_timeout is 0s: want a duration above zero, or 0s alone for no limit"},
		{"p.yaml", one + "  attempt_timeout: [1s, 2]\n", "attempt_timeout is wrong: number 2 of the list is 2: want a duration such as 250ms, 10s or 1m30s, with its unit: 2s"},
		{"p.yaml", one + "  attempt_timeout: [1s, 2s, 3s, 4s]\n", "config p.yaml:4: upstreams[0].attempt_timeout is a list of 4, and a call has at most 3 attempts: want at most 3 durations, or max_attempts 4 with it"},
		{"p.yaml", one + "  max_attempts: 1\n  attempt_timeout: [1s, 2s]\n", "attempt_timeout is a list of 2, and a call has at most 1 attempt:"},
		{"p.yaml", one + "  service: dynamodb\n  attempt_timeout: [1s, 2s, 3s, 4s, 5s]\n", "a call has at most 4 attempts"},
		{"p.yaml", "defaults:\n  attempt_timeout: [1s, 2s, 3s]\n" + one + "  max_attempts: 2\n", "upstreams[0].attempt_timeout is a list of 3, and a call has at most 2 attempts"},
		{"p.yaml", one + "  hedge: -1s\n", "hedge is -1s: want a duration above zero, or 0s for none"},
		{"p.yaml", one + "  retry_mark: 1\n", "retry_mark is 1: want true or false"},
		{"p.yaml", one + "  body_limit: 1GiB\n", "body_limit is 1073741824 bytes: want 0 (keep nothing) to 64 MiB"},
		{"p.yaml", one + "  body_limit: 1TB\n", "want a number of bytes"},
		{"p.yaml", one + "  coalesce: 1s\n", "coalesce is about the send limiter, which standard mode does not have"},
		{"p.yaml", one + "  mode: legacy\n  quota: {capacity: 5}\n", "legacy mode has no retry quota"},
		{"p.yaml", one + "  quota: {capacity: 5}\n", "quota.transient_cost is 14: want 1 to the capacity, 5 tokens"},
		{"p.yaml", one + "  hosts: a.example:80\n", "want a name or address without port"},
		{"p.yaml", one + "  paths: orders\n", `upstreams[0].paths[0] is "orders": want the beginning of a path`},
		{"p.yaml", one + "  paths: [/a/../b]\n", "want the beginning of a path"},
		{"p.yaml", one + one[len("upstreams:\n"):], `config p.yaml:4: upstreams[1].name is "a", as that of another upstream`},
		{"p.yaml", two + "- name: c\n  urls: http://127.0.0.1:3\n  hosts: [c.example, B.example]\n", "upstreams[2] takes the requests for b.example and the path /, which upstreams[1] takes"},
		{"p.yaml", strings.Replace(one, "name: a", "name: a b", 1), "want up to 63 letters"},
		{"p.yaml", "upstreams:\n- urls: http://127.0.0.1:1\n", "config p.yaml:2: upstreams[0].name is missing"},
		{"p.yaml", "upstreams:\n- name: a\n", "upstreams[0].urls is missing"},
		{"p.yaml", "upstreams:\n- name: a\n  urls: []\n", "names no URL"},
		{"p.yaml", "upstreams:\n- name: a\n  urls: [ftp://x, 127.0.0.1:1, 'http://', 'http://u:secret@x', 'http://x?y', '::']\n", "neither http:// nor https://"},
		{"p.yaml", "upstreams:\n- name: a\n  urls: [http://x/a, http://x/b]\n", "want the same path in all"},
		{"p.yaml", "upstreams:\n- name: a\n  urls: [http://x, http://x]\n", "twice"},
		{"p.yaml", "upstreams: []\n", "upstreams is missing or empty"},
		{"p.yaml", "defaults: {}\n", "upstreams is missing or empty"},
		{"p.yaml", "", "is empty"},
		{"p.toml", "", "is empty"},
		{"p.yaml", "- a\n", "want keys such as upstreams at the top"},
		{"p.yaml", "a: [\n", "config p.yaml:1: is not YAML"},
		{"p.yaml", "a: 1\na: 2\n", "is not YAML"},
		{"p.yaml", one + "---\n" + one, "a second document begins"},
		{"p.yaml", "a: &x [1]\nb: *x\n", "config p.yaml:1: anchors, aliases and tags are not served"},
		{"p.yaml", "a: !!binary aGk=\n", "are not served"},
		{"p.json", "{}", "want a name that ends in .yaml, .yml or .toml"},
		{"p.yaml", strings.Repeat("#", proxyconf.MaxFileBytes+1), "is longer than 1024 KiB"},
	} {
		_, err := proxyconf.Parse(row.name, []byte(row.text))
		if assert.Error(t, err, row.text) {
			assert.Contains(t, err.Error(), row.want, row.text)
			assert.NotContains(t, err.Error(), "secret")
		}
	}
}

// A list of the defaults may be longer than their own attempts: an upstream that
// has more uses all of it.
func TestAttemptTimeoutsOfDefaults(t *testing.T) {
	c, err := proxyconf.Parse("p.yaml", []byte("defaults:\n  attempt_timeout: [1s, 2s, 3s, 4s]\nupstreams:\n- name: a\n  urls: http://127.0.0.1:1\n  max_attempts: 4\n- name: b\n  urls: http://127.0.0.1:2\n  hosts: b\n  service: dynamodb\n"))
	require.NoError(t, err)
	assert.Len(t, c.Upstreams[1].AttemptTimeout, 4)
}

// Several mistakes are told at once, and not without end.
func TestAllMistakes(t *testing.T) {
	_, err := proxyconf.Parse("p.yaml", []byte("x: 1\nupstreams:\n- name: a\n  urls: http://127.0.0.1:1\n  y: 1\n  timeout: soon\n- name: b\n  mode: slow\n  urls: http://127.0.0.1:1\n"))
	require.Error(t, err)
	for _, want := range []string{"p.yaml:1: x is", "p.yaml:5: upstreams[0].y is", "p.yaml:6: upstreams[0].timeout", "p.yaml:8: upstreams[1].mode"} {
		assert.Contains(t, err.Error(), want)
	}
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, "x%d: 1\n", i)
	}
	_, err = proxyconf.Parse("p.yaml", []byte(many.String()))
	require.Error(t, err)
	assert.Len(t, strings.Split(err.Error(), "\n"), 11)
}

func TestLoad(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p.toml")
	_, err := proxyconf.Load(name)
	assert.EqualError(t, err, "config "+name+": no such file or directory")
	require.NoError(t, os.WriteFile(name, []byte(inTOML), 0o600))
	c, err := proxyconf.Load(name)
	require.NoError(t, err)
	assert.Len(t, c.Upstreams, 2)
	_, err = proxyconf.Load(filepath.Dir(name))
	assert.ErrorContains(t, err, "is not a regular file (a directory)")
	require.NoError(t, os.WriteFile(name, bytes.Repeat([]byte("#"), proxyconf.MaxFileBytes+1), 0o600))
	_, err = proxyconf.Load(name)
	assert.ErrorContains(t, err, "is longer than 1024 KiB")
}

// What is no regular file is refused at once, although nobody writes into the pipe
// and the device has no end.
func TestLoadOfOtherThanFiles(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	link := filepath.Join(t.TempDir(), "p.toml")
	require.NoError(t, os.Symlink("/dev/zero", link))
	for _, name := range []string{pipe, link, "/dev/null"} {
		done := make(chan error, 1)
		go func() {
			_, err := proxyconf.Load(name)
			done <- err
		}()
		select {
		case err := <-done:
			assert.ErrorContains(t, err, "config "+name+": is not a regular file (")
		case <-time.After(10 * time.Second):
			require.Fail(t, "still reading", name)
		}
	}
}

func TestOne(t *testing.T) {
	c, err := proxyconf.One([]string{"http://127.0.0.1:1", "https://b.example"}, proxyconf.Default())
	require.NoError(t, err)
	require.Len(t, c.Upstreams, 1)
	assert.Equal(t, "default", c.Upstreams[0].Name)

	_, err = proxyconf.One([]string{"nowhere"}, proxyconf.Default())
	assert.EqualError(t, err, `--upstream "nowhere": neither http:// nor https://: want a URL such as http://127.0.0.1:9000`)
	for _, port := range []string{"0", "65536", "99999"} {
		_, err = proxyconf.One([]string{"http://127.0.0.1:" + port}, proxyconf.Default())
		assert.ErrorContains(t, err, "no port from 1 to 65535", port)
	}
	s := proxyconf.Default()
	s.Hedge, s.MaxAttempts = time.Second, 1
	_, err = proxyconf.One([]string{"http://127.0.0.1:1"}, s)
	assert.ErrorContains(t, err, "--hedge is 1s")
	s.Hedge, s.MaxAttempts = time.Minute, 0
	_, err = proxyconf.One([]string{"http://127.0.0.1:1"}, s)
	assert.ErrorContains(t, err, "--hedge is 1m0s: want less than the timeout")
	s = proxyconf.Default()
	s.Quota.Capacity = -1
	_, err = proxyconf.One([]string{"http://127.0.0.1:1"}, s)
	assert.ErrorContains(t, err, "--quota-capacity is -1: want 1 to")
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]proxyconf.Bytes{"0": 0, "65536": 65536, "64KiB": 65536, " 1 MiB ": 1 << 20, "7B": 7, "1GiB": 1 << 30} {
		got, err := proxyconf.ParseBytes(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"", "-1", "1.5MiB", "2GiB", "4096MiB", "64k", "KiB", "99999999999999999999"} {
		_, err := proxyconf.ParseBytes(text)
		assert.Error(t, err, text)
	}
	for b, want := range map[proxyconf.Bytes]string{0: "0B", 100: "100B", 65536: "64KiB", 1 << 20: "1MiB", 1 << 30: "1GiB"} {
		assert.Equal(t, want, b.String())
	}
}

// Whatever a file holds, it is read or refused, and what is read makes engines.
func FuzzParse(f *testing.F) {
	f.Add(true, []byte(inYAML))
	f.Add(false, []byte(inTOML))
	f.Add(true, []byte("a: &a [*a]\n<<: {}\n? [1]\n: 2\n"))
	f.Add(false, []byte("a.b.c=1\n[[a.d]]\n[a.d.e]\n"))
	f.Fuzz(func(t *testing.T, asYAML bool, text []byte) {
		name := "p.toml"
		if asYAML {
			name = "p.yaml"
		}
		c, err := proxyconf.Parse(name, text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "config "+name) {
				t.Fatalf("the error does not begin with the file: %v", err)
			}
			return
		}
		for _, u := range c.Upstreams {
			if _, err := engine.New(u.Options()...); err != nil || len(u.URLs) == 0 {
				t.Fatalf("upstream %q with %d URLs: %v", u.Name, len(u.URLs), err)
			}
		}
	})
}
