package answer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/internal/answer"
)

func TestCode(t *testing.T) {
	const deep = 4000
	for _, row := range []struct{ name, document, code string }{
		{"__type", `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"m"}`, "com.amazonaws.dynamodb.v20120810#ThrottlingException"},
		{"code", `{"message":"m","code":"SlowDown"}`, "SlowDown"},
		{"Code", `{"Code":"SlowDown"}`, "SlowDown"},
		{"__type before code before Code, whatever their order", `{"Code":"c","code":"b","__type":"a"}`, "a"},
		{"code before Code", `{"Code":"c","code":"b"}`, "b"},
		{"an empty one does not count", `{"__type":"","code":"b"}`, "b"},
		{"the first of two", `{"code":"a","code":"b"}`, "a"},
		{"only strings", `{"__type":null,"code":503,"Code":["SlowDown"]}`, ""},
		{"nested objects do not count", `{"error":{"__type":"SlowDown"},"list":[{"code":"SlowDown"}],"a":{"b":{"Code":"SlowDown"}}}`, ""},
		{"but what follows them does", `{"error":{"__type":"a"},"list":[1,{"code":"b"},[]],"n":1,"code":"c"}`, "c"},
		{"right after an object", `{"error":{"code":1},"code":"c"}`, "c"},
		{"right after a list", `{"list":[["a"]],"code":"c"}`, "c"},
		{"a value is not a name", `{"a":"__type","b":"SlowDown"}`, ""},
		{"nor is one in a list", `{"list":["__type","SlowDown"],"x":"y"}`, ""},
		{"names have a case", `{"CODE":"SlowDown","__Type":"SlowDown"}`, ""},
		{"escapes", `{"\u005f_type":"Slow\u0044own"}`, "SlowDown"},
		{"cut after the code", `{"__type":"SlowDown","message":"the rest nev`, "SlowDown"},
		{"cut in the code", `{"__type":"Throttling`, ""},
		{"the document ends with its object", `{"a":1}{"code":"SlowDown"}`, ""},
		{"blanks and a byte order mark", "\xef\xbb\xbf \r\n\t{\"code\":\"a\"}", "a"},
		{"a list", `[{"code":"SlowDown"}]`, ""},
		{"a string", `"SlowDown"`, ""},
		{"nothing", ``, ""},
		{"blanks", "  ", ""},
		{"deep JSON", strings.Repeat(`{"a":`, deep), ""},
		{"deep lists", `{"a":` + strings.Repeat(`[`, deep), ""},

		{"S3", `<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>m</Message></Error>`, "SlowDown"},
		{"query", `<ErrorResponse xmlns="http://x/"><Error><Type>Sender</Type><Code>Throttling</Code></Error></ErrorResponse>`, "Throttling"},
		{"EC2", `<Response><Errors><Error><Code>RequestLimitExceeded</Code></Error></Errors></Response>`, "RequestLimitExceeded"},
		{"blanks in XML", "<Error>\n <Code>\n SlowDown\n </Code></Error>", "SlowDown"},
		{"CDATA and comments", `<Error><Code>Slow<!-- x --><![CDATA[Down]]></Code></Error>`, "SlowDown"},
		{"entities", `<Error><Code>Slow&#68;own</Code></Error>`, "SlowDown"},
		{"another charset", `<?xml version="1.0" encoding="ISO-8859-1"?><Error><Code>SlowDown</Code></Error>`, "SlowDown"},
		{"an empty Code does not count", `<Error><Code/><Code>a</Code></Error>`, "a"},
		{"elsewhere", `<Error><Detail><Code>SlowDown</Code></Detail></Error>`, ""},
		{"in another document", `<html><Error><Code>SlowDown</Code></Error></html>`, ""},
		{"at the root", `<Code>SlowDown</Code>`, ""},
		{"inside of Code", `<Error><Code><b>SlowDown</b></Code></Error>`, ""},
		{"too deep", `<Response><Errors><Error><Code><Code>SlowDown</Code></Code></Error></Errors></Response>`, ""},
		{"cut in the code of XML", `<Error><Code>Throttling`, ""},
		{"cut after the code of XML", `<Error><Code>SlowDown</Code><Mess`, "SlowDown"},
		{"HTML", `<!DOCTYPE html><html><body>503<br></body></html>`, ""},
		{"a document type with entities", `<!DOCTYPE x [<!ENTITY c "SlowDown">]><Error><Code>&c;</Code></Error>`, ""},
		{"deep XML", strings.Repeat(`<a>`, deep), ""},
	} {
		assert.Equal(t, row.code, answer.Code([]byte(row.document)), row.name)
	}
}

// Whatever a server writes, looking for the code ends, and finds nothing that
// the document does not hold as a whole: what was found in a cut document is
// found in it when more is there.
func FuzzCode(f *testing.F) {
	f.Add([]byte(`{"__type":"ns#ThrottlingException","message":"m"}`), 20)
	f.Add([]byte(`{"error":{"code":"x"},"code":"y"}`), 12)
	f.Add([]byte(`<Error><Code>SlowDown</Code></Error>`), 18)
	f.Add([]byte(`<Response><Errors><Error><Code>a</Code></Error></Errors></Response>`), 40)
	f.Add([]byte("\xef\xbb\xbf{\"\\u0063ode\":\"\\ud800\"}"), 5)
	f.Fuzz(func(t *testing.T, document []byte, cut int) {
		whole := answer.Code(document)
		part := answer.Code(document[:min(max(cut, 0), len(document))])
		if part != "" && part != whole {
			// A name of a higher rank may follow in JSON; nothing else may differ.
			assert.NotEmpty(t, whole)
			assert.Contains(t, string(document), "{")
		}
		bare := classify.NormalizeCode(whole)
		assert.Equal(t, bare, classify.NormalizeCode(bare))
	})
}
