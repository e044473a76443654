package explain

import (
	"errors"
	"fmt"
	"net/textproto"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/settings"
)

// Question is what a user asks about: a response or a failure, the engine that
// meets it, and the settings that make that engine. What is zero or nil was not
// said.
type Question struct {
	Status      *int
	Code        string
	Headers     []string // name:value
	Error       string   // a name of package scenario
	Service     string
	Mode        string
	MaxAttempts *int
	LongPoll    bool

	Settings *settings.Settings // nil if they were not asked for; Mode and MaxAttempts go before them
}

// settingsAlone reports whether nothing but the settings is to be explained.
func (q *Question) settingsAlone() bool {
	return q.Settings != nil && q.Status == nil && q.Code == "" && len(q.Headers) == 0 && q.Error == "" && !q.LongPoll
}

// The headers that a retry depends on.
const (
	retryAfterHeader = "X-Amz-Retry-After"
	errorTypeHeader  = "X-Amzn-Errortype"
)

// event is what the attempt met.
type event struct {
	status  int
	code    string
	failure *scenario.Failure // instead of status and code
	hint    *string           // the value of x-amz-retry-after
}

// event checks the question and reads it.
func (q *Question) event() (event, error) {
	headers, err := q.headers()
	if err != nil {
		return event{}, err
	}
	if q.Error != "" {
		if q.Status != nil || q.Code != "" || len(q.Headers) > 0 {
			return event{}, fmt.Errorf("--error beside --status, --code or --header: an attempt that failed has no response")
		}
		failure, err := scenario.Find(q.Error)
		return event{failure: failure}, err
	}
	e := event{code: q.Code}
	if code, ok := headers[errorTypeHeader]; ok && e.code == "" {
		e.code = code
	}
	if hint, ok := headers[retryAfterHeader]; ok {
		e.hint = &hint
	}
	if q.Status == nil && e.code == "" {
		return e, errors.New("nothing to explain: want --status, --code or both, or --error, or --settings alone")
	}
	if q.Status != nil {
		if e.status = *q.Status; e.status == 0 {
			return e, errors.New("status is 0: want 100 to 999; for a response known by its code alone leave it out")
		}
	}
	return e, scenario.CheckResponse(e.status, e.code)
}

func (q *Question) headers() (map[string]string, error) {
	headers := make(map[string]string)
	for _, header := range q.Headers {
		name, value, ok := strings.Cut(header, ":")
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("--header %q: want name:value", header)
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		if _, twice := headers[name]; twice && (name == retryAfterHeader || name == errorTypeHeader) {
			return nil, fmt.Errorf("--header %s is there twice", strings.ToLower(name))
		}
		headers[name] = textproto.TrimString(value)
	}
	return headers, nil
}

// engine makes the engine that the question is about.
func (q *Question) engine(s settings.Settings) (*engine.Engine, error) {
	opts := s.Options()
	if q.Service != "" {
		if err := scenario.CheckService(q.Service); err != nil {
			return nil, err
		}
		opts = append(opts, engine.WithService(q.Service))
	}
	return engine.New(opts...)
}
