// Package settings reads the retry mode and the most attempts from the places
// where AWS's tools look for them, the environment and the shared config file,
// and turns them into engine options. An operator changes them without a build.
//
// # Precedence (R1.1, R1.2)
//
// The topmost line that says something counts, for each setting alone.
//
//	                          retry_mode               max_attempts
//	1 code                    engine.WithMode          engine.WithMaxAttempts
//	2 environment             AWS_RETRY_MODE           AWS_MAX_ATTEMPTS
//	3 shared config file      retry_mode               max_attempts
//	4 default                 standard                 3; DynamoDB 4; legacy mode 5
//
//	                          which file               which profile in it
//	1 code                    Opts.File                Opts.Profile
//	2 environment             AWS_CONFIG_FILE          AWS_PROFILE
//	3 default                 ~/.aws/config            default
//
// Lines 1 and 4 of the first table are the engine's: [Settings.Options] holds
// an option for what was said in lines 2 and 3 and none for the rest, so the
// defaults of a service stay alive, and what the code says wins by coming later:
//
//	s, err := settings.Load(settings.Opts{})
//	e, err := engine.New(append(s.Options(), engine.WithMaxAttempts(2))...)
//
// Every [Setting] remembers who said it and what the lower sources said;
// printing [Settings] shows it.
//
// # Values (R1.3)
//
// retry_mode is standard, adaptive or legacy, in any case. max_attempts is an
// integer from 1 to 2147483647 that counts the first attempt: 1 turns retries
// off. Blanks around a value, and in the file one pair of quotes, are dropped.
// Anything else ("0", "-1", "3.0", "1e3", "fast") is an error that names the
// setting, its source and the valid values. Nothing is guessed or capped, and
// all that is wrong is reported at once.
//
//   - A bad value is an error in an overruled source too, as in AWS's SDK for
//     Go: otherwise it would strike on the day the variable goes.
//   - A variable that is empty or blank was not said: that is how one is unset
//     in a manifest. An empty value in the file is a bad value.
//   - Other profiles of the file are not looked at, beyond its syntax.
//
// # The file
//
// Its syntax is read by gopkg.in/ini.v1, behind a reader (the type lines) that
// ends what INI and AWS understand differently. An indented line belongs to the
// setting above it, so neither the nested blocks of AWS ("s3 =") nor continued
// values can pass for a setting of ours. "#" or ";" starts a comment at the start
// of a line or after a blank. A value ends with its line. Names of settings
// match in any case, names of profiles exactly. The last of several equal names
// counts, and sections of one name are one section. [profile default] replaces
// [default] as a whole; [NAME] without the word profile, [sso-session NAME] and
// [services NAME] are no profiles. A profile inherits nothing from [default].
//
// # What is an error
//
//	                                        here            AWS's SDK for Go (its config v1.33.18)
//	no file at ~/.aws/config                fine            fine
//	no file where AWS_CONFIG_FILE points    fine, printed   fine
//	no file where Opts.File points          error           (no such option)
//	home directory unknown                  fine, no file   fine
//	AWS_CONFIG_FILE=/dev/null               fine, no file   fine
//	unreadable                              error           as if missing
//	a directory                             error           error
//	a FIFO                                  error           waits for a writer
//	larger than 1 MiB, NUL bytes (UTF-16)   error           read
//	a profile named but not in the file     error           depends on who names it
//	[default] not in the file               fine            fine
//	not INI syntax                          error           passed over
//	the same, in an indented line           not looked at   passed over
//	a setting indented below a value        not looked at   a setting
//
// An error never repeats a line of the file, which may hold keys and tokens; of
// values it shows those of the two settings alone.
//
// # Not promised
//
// The credentials file and AWS_DEFAULT_PROFILE are not read; a profile that only
// the credentials file holds is [ErrNoProfile] here, which a caller may let
// pass. Nothing is cached and nothing is watched: each Load reads once, and
// knows nothing of the last.
// The package reads no clock and opens no connection.
package settings
