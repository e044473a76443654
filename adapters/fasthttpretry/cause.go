package fasthttpretry

import (
	"errors"
	"reflect"

	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/classify"
)

// known are those of fasthttp's errors that package classify cannot know: they
// are values without a type of their own.
var known = []struct {
	err     error
	verdict classify.Verdict
}{
	// The end of a connection, also by a reset, before the first byte of an
	// answer; and between the chunks of one.
	{fasthttp.ErrConnectionClosed, classify.Verdict{Class: classify.Transient, Rule: classify.RuleEOF}},
	{fasthttp.ErrDialTimeout, classify.Verdict{Class: classify.Transient, Rule: classify.RuleTimeout, NeverSent: true}},
	{fasthttp.ErrTLSHandshakeTimeout, classify.Verdict{Class: classify.Transient, Rule: classify.RuleTimeout, NeverSent: true}},
	// The client's own limits are not the server's failure, and to ask again
	// makes them worse.
	{fasthttp.ErrNoFreeConns, classify.Verdict{Rule: classify.RuleLocalFault, NeverSent: true}},
	{fasthttp.ErrPipelineOverflow, classify.Verdict{Rule: classify.RuleLocalFault, NeverSent: true}},
	{fasthttp.ErrNoAvailableClients, classify.Verdict{Rule: classify.RuleLocalFault, NeverSent: true}},
}

// pipelineStopped is the whole text of the error of requests that were behind
// another one on a pipelined connection which has ended. fasthttp exports neither
// its value nor a type, and no server has a say in it.
const pipelineStopped = "pipeline connection has been stopped"

var sentinelType = reflect.TypeOf(errors.New(pipelineStopped))

// explain classifies the error of an attempt. What classify recognises stands:
// what an error says of itself, its code or status, its type.
func (c *Client) explain(classifier *classify.Classifier, err error) classify.Verdict {
	v := classifier.ExplainError(err)
	if v.Rule != classify.RuleUnrecognized {
		return v
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			k.verdict.RetryAfter = v.RetryAfter
			return k.verdict
		}
	}
	if c.takesBody && reflect.TypeOf(err) == sentinelType && err.Error() == pipelineStopped {
		v.Class, v.Rule = classify.Transient, classify.RuleClosed
	}
	return v
}
