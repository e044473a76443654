package main

import (
	"fmt"
	"strings"

	"github.com/reprise-go/reprise/cmd/reprise/internal/explain"
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
)

// explainCommand is `reprise explain`.
type explainCommand struct {
	Status *int     `group:"What the attempt met" placeholder:"N" help:"HTTP status of the response."`
	Code   string   `group:"What the attempt met" help:"Error code of the response, with its decorations (ns#Code, Code:url) or without."`
	Header []string `group:"What the attempt met" sep:"none" placeholder:"NAME:VALUE" help:"Header of the response; x-amz-retry-after and x-amzn-errortype count. May be repeated."`
	Error  string   `group:"What the attempt met" placeholder:"NAME" help:"How the attempt failed, if there was no response: one of the names above."`

	Service     string `group:"Engine" placeholder:"ID" help:"AWS service whose defaults count, such as dynamodb."`
	Mode        string `group:"Engine" placeholder:"MODE" help:"Retry mode: standard, adaptive, legacy. Default: standard."`
	MaxAttempts *int   `group:"Engine" placeholder:"N" help:"Most attempts of a call, the first included. Default: 3, DynamoDB 4, legacy 5."`
	LongPoll    bool   `group:"Engine" help:"The operation is a long poll, such as ReceiveMessage."`

	settingsFlags `embed:""`

	JSON bool `group:"Output" name:"json" help:"Print one JSON document instead."`
}

// Help is the long help of the command.
func (explainCommand) Help() string {
	var names strings.Builder
	for _, f := range scenario.Failures {
		fmt.Fprintf(&names, "  %-17s%s\n", f.Name, f.Help)
	}
	return `Says the class of a failure and the rule that gives it, what a retry costs, and how long the delays are, with the clauses of "Retry Behavior 2.1" behind each. The numbers are those of the engine that would decide.

With --settings it says what the environment and the shared config file say about retries, each value with its source and with what the lower sources said, and what engine comes of it, for --service if that is given. Flags go before settings: --mode and --max-attempts show as one source more. Together with a failure, the failure is explained for that engine. Without --settings nothing of this is read.

Names for --error, the same as in replay files:
` + names.String() + `
Keys of --json, with times in milliseconds: schema, status, code (normalised), error, mode, service, max_attempts, long_poll; success, class, rule, clause, never_sent, retryable, given_up; quota (cost_tokens, capacity_tokens, retries_of_a_full_quota); hint (value, asked_ms); retries (first, last, ceiling_ms, least_ms, mean_ms, most_ms, total_mean_ms, total_worst_ms), a row for each ceiling; total (retries, mean_ms, worst_ms). What does not apply is left out.

Keys with --settings besides, or alone with schema: settings (retry_mode, max_attempts, profile, config_file: lists, what counts first, of value, source (flag, variable, file, default), name, line, profile; config_file_missing); engine (mode, service, max_attempts; schedule: transient_ms, throttling_ms, max_ms; quota: capacity_tokens, transient_cost_tokens, throttling_cost_tokens).

Exit codes: 0 explained, 1 the settings are wrong, 2 the command line is wrong.

Examples:
  reprise explain --status 503
  reprise explain --status 400 --code ThrottlingException --header 'x-amz-retry-after: 1500' --service dynamodb
  reprise explain --error reset --max-attempts 10
  reprise explain --code SlowDown --long-poll --json
  reprise explain --settings --service dynamodb           what is set here, and by whom
  reprise explain --settings --profile prod --status 503  what a 503 means with that
  AWS_MAX_ATTEMPTS=5 reprise explain --settings --json`
}

// Run explains the failure.
func (c *explainCommand) Run(out streams) error {
	found, err := c.load()
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	answer, err := explain.Explain(explain.Question{
		Status: c.Status, Code: c.Code, Headers: c.Header, Error: c.Error,
		Service: c.Service, Mode: c.Mode, MaxAttempts: c.MaxAttempts, LongPoll: c.LongPoll,
		Settings: found,
	})
	if err != nil {
		return usageError{fmt.Errorf("explain: %w", err)}
	}
	text := []byte(answer.Text())
	if c.JSON {
		if text, err = answer.JSON(); err != nil {
			return err
		}
	}
	if _, err := out.Out.Write(text); err != nil {
		return fmt.Errorf("explain: result: %w", err)
	}
	return nil
}
