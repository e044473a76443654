package awsretry

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/settings"
)

// LoadEngine returns an engine with the mode and the attempts of a config that
// the SDK has loaded (R1.1, R1.2), and with opts, which win. What it was not told
// stays open, so each service has its own defaults (see [Apply]).
//
// Each of the two settings is looked for in this order: the config's RetryMode
// and RetryMaxAttempts; its ConfigSources; what package settings reads in the
// environment and in the config file, with the profile and the file of the
// ConfigSources where they name one. The last is for what the SDK cannot say,
// retry_mode = legacy (see [ConfigFilesForSDK]), and for a config that was made
// by hand. A value that is wrong is an error that names it and where it came
// from (R1.3).
func LoadEngine(ctx context.Context, cfg aws.Config, opts ...engine.Option) (*engine.Engine, error) {
	mode, attempts, err := saidBy(ctx, cfg)
	if err != nil {
		return nil, err
	}
	var options []engine.Option
	if mode == "" || attempts == 0 {
		read, err := read(cfg)
		if err != nil {
			return nil, err
		}
		if mode == "" && read.Mode.Set() {
			options = append(options, engine.WithMode(read.Mode.Value()))
		}
		if attempts == 0 && read.MaxAttempts.Set() {
			options = append(options, engine.WithMaxAttempts(read.MaxAttempts.Value()))
		}
	}
	if mode != "" {
		m, err := parseMode(mode)
		if err != nil {
			return nil, err
		}
		options = append(options, engine.WithMode(m))
	}
	if attempts < 0 {
		return nil, fmt.Errorf("reprise/awsretry: the config's RetryMaxAttempts is %d: want 1 (no retries) or more, the first attempt included, or 0 for the default", attempts)
	}
	if attempts != 0 {
		options = append(options, engine.WithMaxAttempts(attempts))
	}
	return engine.New(append(options, opts...)...)
}

// saidBy returns what the config and its sources say; "" and 0 are nothing.
func saidBy(ctx context.Context, cfg aws.Config) (mode aws.RetryMode, attempts int, err error) {
	mode, attempts = cfg.RetryMode, cfg.RetryMaxAttempts
	for _, source := range cfg.ConfigSources {
		if p, ok := source.(interface {
			GetRetryMode(context.Context) (aws.RetryMode, bool, error)
		}); ok && mode == "" {
			v, said, err := p.GetRetryMode(ctx)
			if err != nil {
				return "", 0, fmt.Errorf("reprise/awsretry: retry mode of the config source %T: %w", source, err)
			}
			if said {
				mode = v
			}
		}
		if p, ok := source.(interface {
			GetRetryMaxAttempts(context.Context) (int, bool, error)
		}); ok && attempts == 0 {
			v, said, err := p.GetRetryMaxAttempts(ctx)
			if err != nil {
				return "", 0, fmt.Errorf("reprise/awsretry: retry attempts of the config source %T: %w", source, err)
			}
			if said {
				attempts = v
			}
		}
	}
	return mode, attempts, nil
}

func parseMode(mode aws.RetryMode) (engine.Mode, error) {
	m, err := engine.ParseMode(string(mode))
	if err != nil {
		return 0, fmt.Errorf("reprise/awsretry: the config's RetryMode is %q: want standard, adaptive or legacy", string(mode))
	}
	return m, nil
}

// read reads what package settings finds for the config.
func read(cfg aws.Config) (settings.Settings, error) {
	var o settings.Opts
	for _, source := range cfg.ConfigSources {
		if profile, ok := field[string](source, "Profile"); ok && o.Profile == "" {
			o.Profile = profile
		}
		files, ok := field[[]string](source, "SharedConfigFiles")
		switch {
		case !ok || files == nil:
		case len(files) == 1 && isCopy(files[0]): // read what it is a copy of
		case len(files) == 1:
			o.File = files[0]
		default: // none, or a merger that the SDK has made and we cannot
			return settings.Settings{}, nil
		}
	}
	said, err := settings.Load(o)
	if errors.Is(err, settings.ErrNoProfile) {
		return settings.Settings{}, nil // the SDK has found it elsewhere, in the credentials file
	}
	return said, err
}

// field returns a field of a config source, whose types are those of a package
// that is not imported here.
func field[T any](source any, name string) (value T, ok bool) {
	v := reflect.Indirect(reflect.ValueOf(source))
	if v.Kind() != reflect.Struct {
		return value, false
	}
	f := v.FieldByName(name)
	if !f.IsValid() || !f.CanInterface() {
		return value, false
	}
	value, ok = f.Interface().(T)
	return value, ok
}
