package classify_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
)

// throttlingCodes is R3.1, to the letter.
var throttlingCodes = []string{
	"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException",
	"TooManyRequestsException", "ProvisionedThroughputExceededException", "TransactionInProgressException", "RequestLimitExceeded",
	"BandwidthLimitExceeded", "LimitExceededException", "RequestThrottled", "SlowDown", "PriorRequestNotComplete", "EC2ThrottledException",
}

// transientCodes is R3.2, to the letter.
var transientCodes = []string{"RequestTimeout", "RequestTimeoutException", "InternalError", "IDPCommunicationError"}

// otherCodes are in neither: R3.3, and near misses.
var otherCodes = []string{
	"AccessDeniedException", "ValidationException", "ResourceNotFoundException", "ServiceUnavailable",
	"throttling", "THROTTLING", "Throttling2", "Throttlin", "xThrottling", "Throttling.User", "SlowDownException", "InternalErrors", "Internal", "slowDown", "Slow Down",
}

func TestCodesOfR31AreThrottlingWhateverTheStatus(t *testing.T) {
	assert.Len(t, throttlingCodes, 14)
	for _, code := range throttlingCodes {
		for _, status := range []int{0, 200, 400, 403, 429, 500, 501, 503, 599} {
			v := classify.Default.ExplainResponse(status, code)
			assert.Equal(t, classify.Verdict{Class: throttle, Rule: classify.RuleThrottlingCode}, v, "%d %s", status, code)
			assert.Equal(t, "R3.1", v.Rule.Clause())
		}
	}
}

func TestCodesOfR32AreTransientWhateverTheStatus(t *testing.T) {
	assert.Len(t, transientCodes, 4)
	for _, code := range transientCodes {
		for _, status := range []int{0, 200, 400, 403, 429, 500, 501, 503, 599} {
			v := classify.Default.ExplainResponse(status, code)
			assert.Equal(t, classify.Verdict{Class: transient, Rule: classify.RuleTransientCode}, v, "%d %s", status, code)
			assert.Equal(t, "R3.2", v.Rule.Clause())
		}
	}
}

// R3.1, R3.2: these and no others. What is in the tables beyond them no list of
// near misses would find, so the tables themselves are read.
func TestNoOtherCodeIsInTheTables(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var codes []string
	ast.Inspect(file, func(n ast.Node) bool {
		if entry, ok := n.(*ast.CaseClause); ok {
			for _, e := range entry.List {
				code, err := strconv.Unquote(e.(*ast.BasicLit).Value)
				require.NoError(t, err)
				codes = append(codes, code)
			}
		}
		return true
	})
	assert.ElementsMatch(t, append(slices.Clone(throttlingCodes), transientCodes...), codes)
}

func TestOtherCodesFallToTheStatus(t *testing.T) {
	for _, code := range otherCodes {
		for status, want := range map[int]classify.Class{
			0: final, 200: final, 400: final, 403: final, 404: final, 501: final, 505: final, // R3.3
			500: transient, 502: transient, 503: transient, 504: transient, // R3.2
			429: throttle, // R3.4
		} {
			assert.Equal(t, want, classify.Default.Response(status, code), "%d %s", status, code)
		}
	}
}

func TestDecoratedCodesAreFound(t *testing.T) {
	// R3.9, for every code of the tables.
	for _, decorate := range []func(string) string{
		func(c string) string { return "aws.protocoltests.restjson#" + c },
		func(c string) string { return "com.amazonaws.dynamodb.v20120810#" + c },
		func(c string) string { return c + ":http://internal.amazon.com/coral/com.amazon.coral.validate/" },
		func(c string) string { return "ns#" + c + ":http://example.com/#fragment" },
		func(c string) string { return " \t" + c + "\r\n" },
		func(c string) string { return " ns# " + c + " : http://example.com/ " },
	} {
		for _, code := range throttlingCodes {
			assert.Equal(t, throttle, classify.Default.Response(400, decorate(code)), decorate(code))
			assert.Equal(t, throttle, classify.Default.Error(&apiError{decorate(code), 400}), decorate(code))
		}
		for _, code := range transientCodes {
			assert.Equal(t, transient, classify.Default.Response(400, decorate(code)), decorate(code))
		}
		assert.Equal(t, final, classify.Default.Response(400, decorate("slowDown")), "case matters")
	}
}

func TestNormalizeCode(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"SlowDown":                  "SlowDown",
		"slowDown":                  "slowDown",
		"ns#SlowDown":               "SlowDown",
		"a#b#SlowDown":              "SlowDown",
		"SlowDown:http://x/":        "SlowDown",
		"ns#SlowDown:http://x/#top": "SlowDown",
		"  SlowDown ":               "SlowDown",
		" ns # SlowDown : x":        "SlowDown",
		"\u00a0SlowDown\u2003":      "SlowDown",
		"Slow Down":                 "Slow Down",
		"#":                         "",
		":":                         "",
		"ns#":                       "",
		":http://x/":                "",
		"#:":                        "",
		" \t\r\n":                   "",
		"http://x/#SlowDown":        "http", // not a form of R3.9: the colon comes first
		"\xff#\xfe":                 "\xfe",
	} {
		assert.Equal(t, want, classify.NormalizeCode(in), "%q", in)
	}
}

func TestEmptyCodeIsNoCode(t *testing.T) {
	for _, code := range []string{"", " ", "ns#", ":http://x/"} {
		assert.Equal(t, classify.RuleFinalStatus, classify.Default.ExplainResponse(400, code).Rule, "%q", code)
		assert.Equal(t, classify.RuleUnrecognized, classify.Default.ExplainResponse(0, code).Rule, "%q", code)
		assert.Equal(t, classify.RuleFinalStatus, classify.Default.ExplainError(&apiError{code, 400}).Rule, "%q", code)
	}
}

func TestNoClassFromAMessage(t *testing.T) {
	// R3.8: the words of R3.1 and R3.2 in a message mean nothing.
	for _, text := range append(append([]string{
		"connection reset by peer", "use of closed network connection", "broken pipe", "i/o timeout", "unexpected EOF", "EOF",
		"http2: server sent GOAWAY and closed the connection", "stream error: stream ID 1; REFUSED_STREAM", "http2: client connection lost",
		"http: server closed idle connection", "net/http: TLS handshake timeout", "429 Too Many Requests", "status code: 503", "temporary failure in name resolution",
	}, throttlingCodes...), transientCodes...) {
		v := classify.Default.ExplainError(errors.New(text))
		assert.Equal(t, classify.Verdict{}, v, text)
		assert.Equal(t, classify.Verdict{}, classify.Default.ExplainError(get(read(errors.New(strings.ToLower(text))))), text)
	}
}

func FuzzNormalizeCode(f *testing.F) {
	for _, code := range append(append(append([]string{"ns#X:http://y", " ns # X : y ", "a#b#c", "::##", "\u00a0x", "\xff#\xfe:"}, throttlingCodes...), transientCodes...), otherCodes...) {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		bare := classify.NormalizeCode(code)
		if len(bare) > len(code) || !strings.Contains(code, bare) {
			t.Fatalf("%q is not a part of %q", bare, code)
		}
		if again := classify.NormalizeCode(bare); again != bare {
			t.Fatalf("%q becomes %q, then %q", code, bare, again)
		}
		if strings.ContainsAny(bare, "#:") || strings.TrimSpace(bare) != bare {
			t.Fatalf("%q still has decorations", bare)
		}
		for _, decorated := range []string{"ns#" + bare, bare + ":x", " " + bare + " "} {
			if got := classify.NormalizeCode(decorated); got != bare {
				t.Fatalf("%q becomes %q, want %q", decorated, got, bare)
			}
		}
	})
}
