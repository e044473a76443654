package replay

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// On 80 columns or more no line of a table is broken, whatever a step is, and each of its
// facts is there.
func TestTablesFitTheirColumns(t *testing.T) {
	const code = "ProvisionedThroughputExceededException"
	steps := []Result{
		{Call: 9999, Step: 1, Met: "400 " + code, Class: classify.NonRetryable, Rule: classify.RuleUnknownCode, Reason: engine.ReasonNonRetryable, Quota: 500, Checked: true},
		{Call: 9999, Step: 10, Met: "200", Success: true, Quota: 491, Checked: true, Mismatches: []Mismatch{{Key: "quota"}}},
		{Call: 10000, Step: 1, Met: "503", Class: classify.Throttling, Rule: classify.RuleThrottleStatus, Reason: engine.ReasonRetry, Quota: 3, Delay: 12345678 * time.Nanosecond},
	}
	for _, limiter := range []*Limiter{nil, {AdmitWait: 58035 * time.Microsecond, FillRate: 1234.5678, MeasuredRate: 4.33306}} {
		var rows [][]string
		for _, r := range steps {
			r.Limiter = limiter
			rows = append(rows, cells(&r))
		}
		whole := table(rows, 0)
		assert.Contains(t, whole, "as expected", "no terminal, nothing left out")
		assert.Equal(t, whole, table(rows, 200))
		for columns := 80; columns < 200; columns++ {
			out := table(rows, columns)
			for line := range strings.Lines(out) {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), columns, out)
			}
			flat := strings.Join(strings.Fields(strings.ReplaceAll(out, "│", " ")), " ")
			for _, fact := range []string{"9999", "10000", "non_retryable", "R3.4", "491", "12.346ms", "yes", "no"} {
				require.Contains(t, flat, fact, out)
			}
			if limiter != nil {
				require.Equal(t, len(steps), strings.Count(out, "58.035ms"), out)
				require.Contains(t, out, "1234.57/s", out)
			}
			var met strings.Builder // its lines, one below the other
			for line := range strings.Lines(out) {
				if columns := strings.Split(line, "│"); len(columns) > metColumn+1 {
					met.WriteString(strings.TrimSpace(columns[metColumn+1]))
				}
			}
			require.Contains(t, strings.ReplaceAll(met.String(), " ", ""), "400"+code, out)
		}
	}
}

// What no step of a table says anything of has no column where columns are short.
func TestNarrowTablesLeaveOutWhatIsEmpty(t *testing.T) {
	document := `{"format":"reprise-replay/1","cases":[{"name":"n","calls":[{"steps":[{"status":400,"code":"` + strings.Repeat("x", 30) + `"}]}]}]}`
	for columns, want := range map[int]string{
		0:   "│ call │ step │ met                                │ class         │ rule │ outcome       │ quota │ delay │ as expected │",
		103: "│call│step│met                               │class        │rule│outcome      │quota│delay│as expected│",
		85:  "│call│step│met                               │class        │rule│outcome      │quota│",
	} {
		var out, faults bytes.Buffer
		_, err := Files([]string{"-"}, strings.NewReader(document), NewText(&out, &faults, Full, columns))
		require.NoError(t, err)
		assert.Contains(t, out.String(), "\n"+want+"\n", columns)
		assert.Empty(t, faults.String())
	}
}
