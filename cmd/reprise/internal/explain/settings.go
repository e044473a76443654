package explain

import (
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/settings"
)

// Settings is what was said of each setting, and by whom, for machines. What
// counts comes first, then what the lower sources said.
type Settings struct {
	RetryMode   []Said `json:"retry_mode"`
	MaxAttempts []Said `json:"max_attempts"`
	Profile     []Said `json:"profile"`
	ConfigFile  []Said `json:"config_file"` // empty if the home directory is unknown
	FileMissing bool   `json:"config_file_missing"`

	text string // the same for people
}

// Said is a value and who said it.
type Said struct {
	Value   any    `json:"value"`
	Source  string `json:"source"`         // flag, variable, file or default
	Name    string `json:"name,omitempty"` // of the flag, the variable or the file
	Line    int    `json:"line,omitzero"`
	Profile string `json:"profile,omitempty"`
}

// overruled returns the settings with what the flags say on top (R1.2). If no
// settings were asked for, the flags are all there is.
func (q *Question) overruled() (settings.Settings, error) {
	var s settings.Settings
	if q.Settings != nil {
		s = *q.Settings
	}
	if q.Mode != "" {
		mode, err := scenario.ParseMode(q.Mode)
		if err != nil {
			return s, err
		}
		s.Mode = overrule(s.Mode, mode, "--mode")
	}
	if q.MaxAttempts != nil {
		if err := scenario.CheckAttempts(*q.MaxAttempts); err != nil {
			return s, err
		}
		s.MaxAttempts = overrule(s.MaxAttempts, *q.MaxAttempts, "--max-attempts")
	}
	return s, nil
}

func overrule[T any](s settings.Setting[T], value T, flag string) settings.Setting[T] {
	top := settings.Said[T]{Value: value, Source: settings.Source{Option: flag}}
	return settings.Setting[T]{Said: append([]settings.Said[T]{top}, s.Said...)}
}

// describe writes down settings and the defaults of the engine they make.
func describe(s settings.Settings, e *engine.Engine) *Settings {
	found := &Settings{
		RetryMode:   list(s.Mode),
		MaxAttempts: list(s.MaxAttempts),
		Profile:     list(s.Profile),
		ConfigFile:  list(s.File),
		FileMissing: s.FileMissing,
		text:        s.String() + "\n",
	}
	if !s.Mode.Set() {
		found.RetryMode = []Said{{Value: e.Mode().String(), Source: "default"}}
	}
	if !s.MaxAttempts.Set() {
		found.MaxAttempts = []Said{{Value: e.MaxAttempts(), Source: "default"}}
	}
	return found
}

func list[T any](s settings.Setting[T]) []Said {
	all := []Said{}
	for _, said := range s.Said {
		one := Said{Value: said.Value, Source: "default", Line: said.Source.Line, Profile: said.Source.Profile}
		if mode, ok := one.Value.(engine.Mode); ok {
			one.Value = mode.String()
		}
		switch from := said.Source; {
		case from.Option != "":
			one.Source, one.Name = "flag", from.Option
		case from.Variable != "":
			one.Source, one.Name = "variable", from.Variable
		case from.File != "":
			one.Source, one.Name = "file", from.File
		}
		all = append(all, one)
	}
	return all
}
