package awsretry_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
	"github.com/reprise-go/reprise/settings"
)

func TestBadInput(t *testing.T) {
	e := newEngine(t)
	own := func() aws.Retryer { return retry.NewStandard() }
	cases := []struct {
		name string
		err  error
		want string
	}{
		{"nil config", awsretry.Apply(nil, e), "this *aws.Config is nil"},
		{"nil engine", awsretry.Apply(&aws.Config{}, nil), "Apply needs an engine; this one is nil"},
		{"zero engine", awsretry.Apply(&aws.Config{}, new(engine.Engine)), "this one is the zero Engine"},
		{"nil option", awsretry.Apply(&aws.Config{}, e, nil), "option 1 of 1 is nil"},
		{"a Retryer is set", awsretry.Apply(&aws.Config{Retryer: own}, e), "*retry.Standard: take it out, or say ReplaceRetryer()"},
		{"attempts contradict", awsretry.Apply(&aws.Config{RetryMaxAttempts: 5}, newEngine(t, engine.WithMaxAttempts(4))), "RetryMaxAttempts is 5 (code, AWS_MAX_ATTEMPTS or max_attempts) and the engine was told 4"},
		{"shared and keyed", awsretry.Apply(&aws.Config{}, e, awsretry.WithSharedEngine(), awsretry.PerTable()), "exclude each other"},
		{"WithKey(nil)", awsretry.Apply(&aws.Config{}, e, awsretry.WithKey(nil)), "WithKey(nil)"},
		{"WithClass(nil)", awsretry.Apply(&aws.Config{}, e, awsretry.WithClass(nil)), "WithClass(nil)"},
		{"negative attempts", awsretry.Apply(&aws.Config{RetryMaxAttempts: -1}, e), "RetryMaxAttempts is -1: want 1"},
		{"no engines", awsretry.Apply(&aws.Config{}, e, awsretry.WithEngineLimit(0)), "WithEngineLimit(0): want 1 engine or more"},
		{"too many engines", awsretry.Apply(&aws.Config{}, e, awsretry.WithEngineLimit(1<<30)), "limit"},
		{"NewRetryer, nil engine", second(awsretry.NewRetryer(nil)), "NewRetryer needs an engine; this one is nil"},
		{"NewRetryer, zero engine", second(awsretry.NewRetryer(new(engine.Engine))), "this one is the zero Engine"},
		{"NewRetryer, keyed", second(awsretry.NewRetryer(e, awsretry.PerOperation())), "WithKey is for Apply"},
		{"NewRetryer, shared", second(awsretry.NewRetryer(e, awsretry.WithSharedEngine())), "WithSharedEngine is for Apply"},
		{"NewRetryer, replacing", second(awsretry.NewRetryer(e, awsretry.ReplaceRetryer())), "ReplaceRetryer is for Apply"},
		{"NewRetryer, limit", second(awsretry.NewRetryer(e, awsretry.WithEngineLimit(3))), "WithEngineLimit is for Apply"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.ErrorContains(t, c.err, c.want)
			assert.Regexp(t, "^reprise/", c.err.Error())
		})
	}

	cfg := aws.Config{}
	require.Error(t, awsretry.Apply(&cfg, e, nil))
	assert.Nil(t, cfg.Retryer, "an error changes nothing")
	assert.Nil(t, cfg.APIOptions)
}

func second(_ aws.RetryerV2, err error) error { return err }

// RetryMaxAttempts of a config is honoured, and no contradiction if the engine
// was told nothing or the same.
func TestConfigsAttempts(t *testing.T) {
	for _, e := range []*engine.Engine{newEngine(t), newEngine(t, engine.WithMode(engine.Legacy)), newEngine(t, engine.WithMaxAttempts(2))} {
		s := &server{always: fail(500, "x")}
		cfg := aws.Config{HTTPClient: s, RetryMaxAttempts: 2}
		require.NoError(t, awsretry.Apply(&cfg, derived(t, e, engine.WithSchedule(fastbackoff.Schedule{Transient: 1, Throttling: 1})), awsretry.WithSharedEngine()))
		_, _, err := newClient(cfg, "DynamoDB").call(t.Context(), "GetItem", &input{})
		var most *retry.MaxAttemptsError
		require.ErrorAs(t, err, &most)
		assert.Equal(t, []string{"attempt=1; max=2", "attempt=2; max=2"}, s.headers("Amz-Sdk-Request"))
	}
}

// R1.3: a negative number of attempts is not "no limit".
func TestNegativeAttempts(t *testing.T) {
	s := &server{always: fail(500, "x")}
	cfg := applied(t, s, newEngine(t, engine.WithSchedule(fastbackoff.Schedule{Transient: 1})))
	_, _, err := newClient(cfg, "S3", func(o *options) { o.retryMaxAttempts = -1 }).call(t.Context(), "GetObject", &input{})
	require.ErrorIs(t, err, engine.ErrMaxAttempts)
	assert.Equal(t, []string{"attempt=1; max=3", "attempt=2; max=3", "attempt=3; max=3"}, s.headers("Amz-Sdk-Request"))
}

func derived(t testing.TB, e *engine.Engine, opts ...engine.Option) *engine.Engine {
	t.Helper()
	d, err := e.Derive(opts...)
	require.NoError(t, err)
	return d
}

// Applied twice the later engine counts, and there is one loop.
func TestApplyTwice(t *testing.T) {
	first, second := newEngine(t), newEngine(t, engine.WithMaxAttempts(2), engine.WithSchedule(fastbackoff.Schedule{Transient: 1}))
	s := &server{always: fail(500, "x")}
	cfg := applied(t, s, first, awsretry.WithSharedEngine())
	require.ErrorContains(t, awsretry.Apply(&cfg, second), "Retryer of an earlier Apply")
	require.NoError(t, awsretry.Apply(&cfg, second, awsretry.WithSharedEngine(), awsretry.ReplaceRetryer()))
	_, _, err := newClient(cfg, "S3").call(t.Context(), "GetObject", &input{})
	require.Error(t, err)
	assert.Len(t, s.seen(), 2)
	assert.Zero(t, first.Stats().TransientRetries)
	assert.EqualValues(t, 1, second.Stats().TransientRetries)
}

// A copy shares nothing that Apply writes, and what it is given shares engines.
func TestCopies(t *testing.T) {
	options := make([]func(*middleware.Stack) error, 0, 8)
	cfg := aws.Config{APIOptions: append(options, func(*middleware.Stack) error { return nil })}
	before := cfg.Copy()
	require.NoError(t, awsretry.Apply(&cfg, newEngine(t)))
	assert.Nil(t, before.Retryer)
	assert.Nil(t, cfg.APIOptions[:1:1][:1][0](nil))
	assert.Nil(t, before.APIOptions[:2][1], "the array that both had is not written to")

	a, ok := awsretry.EnginesOf(cfg.Retryer())
	require.True(t, ok)
	b, _ := awsretry.EnginesOf(cfg.Copy().Retryer())
	assert.Same(t, a, b)
	_, ok = awsretry.EnginesOf(retry.NewStandard())
	assert.False(t, ok)
}

// Each service and region has an engine of its own, with its service's defaults.
func TestEngines(t *testing.T) {
	table := "t"
	calls := func(t *testing.T, opts ...awsretry.Option) (keys []awsretry.Key, headers []string) {
		s := &server{}
		cfg := applied(t, s, newEngine(t, engine.WithQuota(engine.Quota{Capacity: 50})), opts...)
		for _, c := range []struct {
			service, region, operation string
			in                         any
		}{
			{"DynamoDB", "eu-west-1", "GetItem", &input{TableName: &table}},
			{"DynamoDB", "eu-west-1", "PutItem", &input{}},
			{"DynamoDB", "us-east-1", "GetItem", &input{RequestItems: map[string]int{"u": 1}}},
			{"DynamoDB Streams", "eu-west-1", "GetRecords", nil},
			{"S3", "eu-west-1", "GetObject", &input{RequestItems: map[string]int{"u": 1, "v": 2}}},
			{"S3", "eu-west-1", "GetObject", 7},
		} {
			_, _, err := newClient(cfg, c.service, func(o *options) { o.region = c.region }).call(t.Context(), c.operation, c.in)
			require.NoError(t, err)
		}
		engines, ok := awsretry.EnginesOf(cfg.Retryer())
		require.True(t, ok)
		byKey := maps.Collect(engines.All())
		keys = slices.SortedFunc(maps.Keys(byKey), func(a, b awsretry.Key) int {
			return slices.Compare([]string{a.Service, a.Region, a.Name}, []string{b.Service, b.Region, b.Name})
		})
		for key, e := range byKey {
			attempts, base := 3, 50*time.Millisecond
			if key.Service == "DynamoDB" || key.Service == "DynamoDB Streams" {
				attempts, base = 4, 25*time.Millisecond
			}
			assert.Equal(t, attempts, e.MaxAttempts(), key)
			assert.Equal(t, base, e.Schedule().Transient, key)
			assert.Equal(t, 50, e.Quota().Capacity, key)
			assert.Same(t, e, engines.For(key))
		}
		return keys, s.headers("Amz-Sdk-Request")
	}
	keys, headers := calls(t)
	assert.Equal(t, []awsretry.Key{
		{Service: "DynamoDB", Region: "eu-west-1"}, {Service: "DynamoDB", Region: "us-east-1"},
		{Service: "DynamoDB Streams", Region: "eu-west-1"}, {Service: "S3", Region: "eu-west-1"},
	}, keys)
	perService := []string{"attempt=1; max=4", "attempt=1; max=4", "attempt=1; max=4", "attempt=1; max=4", "attempt=1; max=3", "attempt=1; max=3"}
	assert.Equal(t, perService, headers)

	keys, _ = calls(t, awsretry.PerOperation())
	assert.Equal(t, []awsretry.Key{
		{Service: "DynamoDB", Region: "eu-west-1", Name: "GetItem"}, {Service: "DynamoDB", Region: "eu-west-1", Name: "PutItem"},
		{Service: "DynamoDB", Region: "us-east-1", Name: "GetItem"},
		{Service: "DynamoDB Streams", Region: "eu-west-1", Name: "GetRecords"}, {Service: "S3", Region: "eu-west-1", Name: "GetObject"},
	}, keys)

	keys, _ = calls(t, awsretry.PerTable())
	assert.Equal(t, []awsretry.Key{
		{Service: "DynamoDB", Region: "eu-west-1"}, {Service: "DynamoDB", Region: "eu-west-1", Name: "t"},
		{Service: "DynamoDB", Region: "us-east-1", Name: "u"},
		{Service: "DynamoDB Streams", Region: "eu-west-1"}, {Service: "S3", Region: "eu-west-1"},
	}, keys)

	keys, headers = calls(t, awsretry.WithSharedEngine())
	assert.Equal(t, []awsretry.Key{{}}, keys)
	assert.Equal(t, perService, headers, "each call has its service's attempts all the same")
}

// Beyond the limit a call is made once and not retried.
func TestEngineLimit(t *testing.T) {
	s := &server{script: []answer{fail(503, "x")}}
	cfg := applied(t, s, newEngine(t, engine.WithTokens(100), engine.WithSchedule(fastbackoff.Schedule{Transient: 1})), awsretry.WithEngineLimit(1))
	_, _, err := newClient(cfg, "S3").call(t.Context(), "GetObject", &input{})
	require.NoError(t, err)
	s.always = fail(503, "x")
	_, _, err = newClient(cfg, "SQS").call(t.Context(), "SendMessage", &input{})
	require.ErrorIs(t, err, engine.ErrMaxAttempts)
	assert.Len(t, s.seen(), 3)
	engines, _ := awsretry.EnginesOf(cfg.Retryer())
	assert.EqualValues(t, 1, engines.Stats().Overflowed)
}

// fakeLoad and fakeFile are config sources as the SDK's package config has them.
type fakeLoad struct{ SharedConfigFiles []string }

type fakeFile struct {
	Profile  string
	mode     aws.RetryMode
	attempts int
	err      error
}

func (f fakeFile) GetRetryMode(context.Context) (aws.RetryMode, bool, error) {
	return f.mode, f.mode != "", f.err
}

func (f fakeFile) GetRetryMaxAttempts(context.Context) (int, bool, error) {
	return f.attempts, f.attempts != 0, f.err
}

func TestLoadEngine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte(`[default]
region = eu-west-1
Retry_Mode = Legacy ; as ever
[profile fast]
retry_mode = adaptive
max_attempts = 7
[profile bad]
max_attempts = many
`), 0o600))
	t.Setenv("AWS_CONFIG_FILE", file)
	for _, name := range []string{"AWS_RETRY_MODE", "AWS_MAX_ATTEMPTS", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	copied, remove, err := awsretry.ConfigFilesForSDK(settings.Opts{})
	require.NoError(t, err)
	require.Len(t, copied, 1)
	text, err := os.ReadFile(copied[0])
	require.NoError(t, err)
	assert.Contains(t, string(text), "\n# Retry_Mode = Legacy ; as ever\n[profile fast]\nretry_mode = adaptive\n")
	info, err := os.Stat(copied[0])
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	broken := errors.New("broken")
	cases := []struct {
		name     string
		cfg      aws.Config
		opts     []engine.Option
		mode     engine.Mode
		attempts int
		err      string
	}{
		{name: "config", cfg: aws.Config{RetryMode: aws.RetryModeAdaptive, RetryMaxAttempts: 9}, mode: engine.Adaptive, attempts: 9},
		{name: "sources", cfg: aws.Config{ConfigSources: []any{fakeLoad{}, fakeFile{mode: "adaptive", attempts: 8}, fakeFile{mode: "standard", attempts: 6}}}, mode: engine.Adaptive, attempts: 8},
		{name: "R1.4 legacy in the file", cfg: aws.Config{}, mode: engine.Legacy, attempts: 5},
		{name: "legacy in the file that was copied", cfg: aws.Config{ConfigSources: []any{fakeLoad{copied}, fakeFile{Profile: "default"}}}, mode: engine.Legacy, attempts: 5},
		{name: "legacy and the config's attempts", cfg: aws.Config{RetryMaxAttempts: 2}, mode: engine.Legacy, attempts: 2},
		{name: "the config's profile", cfg: aws.Config{ConfigSources: []any{fakeFile{Profile: "fast"}}}, mode: engine.Adaptive, attempts: 7},
		{name: "a profile that is in the credentials file alone", cfg: aws.Config{ConfigSources: []any{&fakeFile{Profile: "elsewhere"}}}, attempts: 3},
		{name: "no file", cfg: aws.Config{ConfigSources: []any{fakeLoad{[]string{}}}}, attempts: 3},
		{name: "files that the SDK has merged", cfg: aws.Config{ConfigSources: []any{fakeLoad{[]string{file, file}}}}, attempts: 3},
		{name: "legacy by hand", cfg: aws.Config{RetryMode: " LEGACY "}, mode: engine.Legacy, attempts: 5},
		{name: "R1.2 code wins", cfg: aws.Config{RetryMode: "adaptive", RetryMaxAttempts: 9}, opts: []engine.Option{engine.WithMode(engine.Standard), engine.WithMaxAttempts(2)}, attempts: 2},
		{name: "R1.3 unknown mode", cfg: aws.Config{RetryMode: "fast", RetryMaxAttempts: 1}, err: `RetryMode is "fast": want standard, adaptive or legacy`},
		{name: "R1.3 negative attempts", cfg: aws.Config{RetryMode: "standard", RetryMaxAttempts: -1}, err: "RetryMaxAttempts is -1: want 1"},
		{name: "R1.3 bad file", cfg: aws.Config{ConfigSources: []any{fakeFile{Profile: "bad"}}}, err: "max_attempts"},
		{name: "source fails", cfg: aws.Config{ConfigSources: []any{fakeFile{err: broken}}}, err: "fakeFile: broken"},
		{name: "bad option", cfg: aws.Config{}, opts: []engine.Option{engine.WithMaxAttempts(0)}, err: "WithMaxAttempts(0)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e, err := awsretry.LoadEngine(t.Context(), c.cfg, c.opts...)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.mode, e.Mode())
			assert.Equal(t, c.attempts, e.MaxAttempts())
			cfg := c.cfg
			if c.opts == nil {
				require.NoError(t, awsretry.Apply(&cfg, e), "what was loaded contradicts nothing")
			}
		})
	}
	require.NoError(t, remove())
	require.NoFileExists(t, copied[0])
}

func TestConfigFilesForSDK(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("AWS_RETRY_MODE", "")
	t.Setenv("AWS_MAX_ATTEMPTS", "")
	t.Setenv("AWS_PROFILE", "not there")
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("[default]\nretry_mode = standard\n# retry_mode = legacy\n"), 0o600))
	for _, file := range []string{plain, filepath.Join(dir, "missing")} {
		t.Setenv("AWS_CONFIG_FILE", file)
		files, remove, err := awsretry.ConfigFilesForSDK(settings.Opts{})
		require.NoError(t, err)
		assert.Nil(t, files)
		require.NoError(t, remove())
	}
	_, _, err := awsretry.ConfigFilesForSDK(settings.Opts{File: filepath.Join(dir, "missing")})
	require.ErrorContains(t, err, "missing")
	_, _, err = awsretry.ConfigFilesForSDK(settings.Opts{FS: os.DirFS(dir)})
	require.ErrorContains(t, err, "Opts.FS")
}

// Two configs that are given the same engine share its settings; its quota too
// only if both say so.
func TestTwoConfigsOneEngine(t *testing.T) {
	for _, shared := range []bool{false, true} {
		e := newEngine(t, engine.WithQuota(engine.Quota{Capacity: 20}), engine.WithSchedule(fastbackoff.Schedule{Transient: 1}))
		var opts []awsretry.Option
		if shared {
			opts = append(opts, awsretry.WithSharedEngine())
		}
		a, b := &server{always: fail(500, "x")}, &server{script: []answer{fail(500, "x")}}
		_, _, err := newClient(applied(t, a, e, opts...), "S3").call(t.Context(), "GetObject", nil)
		require.Error(t, err)
		_, _, err = newClient(applied(t, b, e, opts...), "S3").call(t.Context(), "GetObject", nil)
		assert.Equal(t, shared, errors.Is(err, engine.ErrQuota), "a's retry took 14 of 20 tokens")
	}
}

// Engines are made once, whoever asks first.
func TestConcurrentFirstCalls(t *testing.T) {
	s := &server{}
	cfg := applied(t, s, newEngine(t), awsretry.PerOperation())
	services := []string{"DynamoDB", "S3", "SQS", "STS"}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			_, _, err := newClient(cfg, services[i%4]).call(t.Context(), "Get", nil)
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	engines, _ := awsretry.EnginesOf(cfg.Retryer())
	assert.Equal(t, 4, engines.Stats().Engines)
	assert.Len(t, s.seen(), 64)
}
