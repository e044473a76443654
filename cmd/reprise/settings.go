package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reprise-go/reprise/settings"
)

// settingsFlags let a command take the mode and the attempts from where AWS's
// tools look for them. Nothing is read unless --settings asks for it, and the
// command's own flags go before what is found.
type settingsFlags struct {
	Settings   bool    `group:"Settings" help:"Take the mode and the attempts from the environment (AWS_RETRY_MODE, AWS_MAX_ATTEMPTS) and the shared config file, unless flags give them. Without it neither is read."`
	Profile    *string `group:"Settings" placeholder:"NAME" help:"Profile in the config file. Default: AWS_PROFILE, or default."`
	ConfigFile *string `group:"Settings" placeholder:"FILE" help:"The config file, which must exist. Default: AWS_CONFIG_FILE, or ~/.aws/config, which need not."`
}

// load reads the settings, or returns nil if they were not asked for.
func (f *settingsFlags) load() (*settings.Settings, error) {
	var o settings.Opts
	for _, flag := range []struct {
		name  string
		given *string
		to    *string
	}{{"--profile", f.Profile, &o.Profile}, {"--config-file", f.ConfigFile, &o.File}} {
		switch {
		case flag.given == nil:
			continue
		case !f.Settings:
			return nil, usageError{fmt.Errorf("%s without --settings: no settings are read", flag.name)}
		}
		*flag.to = *flag.given
	}
	if !f.Settings {
		return nil, nil
	}
	s, err := settings.Load(o)
	if err != nil {
		return nil, errors.New(inFlags.Replace(strings.TrimPrefix(err.Error(), "reprise/")))
	}
	sayFlag(s.Profile, "--profile")
	sayFlag(s.File, "--config-file")
	return &s, nil
}

// inFlags puts all that is wrong on one line and names flags where the package
// names its options.
var inFlags = strings.NewReplacer("\nreprise/settings: ", "; ", "(Opts.Profile)", "(--profile)", "(Opts.File)", "(--config-file)")

// sayFlag names the flag as the source of what an option said.
func sayFlag(s settings.Setting[string], flag string) {
	if s.Source().Option != "" {
		s.Said[0].Source.Option = flag
	}
}
