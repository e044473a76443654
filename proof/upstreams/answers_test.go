package upstreams_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// ms are delays in milliseconds.
func ms(list ...int) (delays []time.Duration) {
	for _, n := range list {
		delays = append(delays, time.Duration(n)*time.Millisecond)
	}
	return delays
}

// row is an answer of nginx and what becomes of the call.
type row struct {
	name     string
	location string // in nginx
	ask      ask
	attempts int
	class    classify.Class
	reason   engine.Reason
	delays   []time.Duration
	tokens   int
}

// rows are what nginx answers, and what RETRY.md says of it. The draw is half of
// the ceiling (R4): 25 and 50 ms after a transient failure, 500 and 1000 ms after
// a throttling one.
func rows() []row {
	const jsonBody = "default_type application/x-amz-json-1.0; return "
	return []row{
		{"R3.2 500", `return 500 "its own";`, ask{}, 3, classify.Transient, engine.ReasonMaxAttempts, ms(25, 50), 472},
		{"R3.2 502", `return 502 "its own";`, ask{}, 3, classify.Transient, engine.ReasonMaxAttempts, ms(25, 50), 472},
		{"R3.2 503", `return 503 "its own";`, ask{}, 3, classify.Transient, engine.ReasonMaxAttempts, ms(25, 50), 472},
		{"R3.2 504", `return 504 "its own";`, ask{}, 3, classify.Transient, engine.ReasonMaxAttempts, ms(25, 50), 472},
		{"R3.2 503 to DELETE", `return 503 "its own";`, ask{method: "DELETE"}, 3, classify.Transient, engine.ReasonMaxAttempts, ms(25, 50), 472},
		{"R3.2 503 to PUT with a body", `return 503 "its own";`, ask{method: "PUT", body: "new"}, 3, classify.Transient, engine.ReasonMaxAttempts, ms(25, 50), 472},
		{"R3.2 501", `return 501 "its own";`, ask{}, 1, classify.NonRetryable, engine.ReasonNonRetryable, nil, 500},
		{"R3.2 505", `return 505 "its own";`, ask{}, 1, classify.NonRetryable, engine.ReasonNonRetryable, nil, 500},
		{"R3.3 403", `return 403 "its own";`, ask{}, 1, classify.NonRetryable, engine.ReasonNonRetryable, nil, 500},
		{"R3.3 404", `return 404 "its own";`, ask{}, 1, classify.NonRetryable, engine.ReasonNonRetryable, nil, 500},
		{"R3.4 429", `return 429 "its own";`, ask{}, 3, classify.Throttling, engine.ReasonMaxAttempts, ms(500, 1000), 490},

		{"POST is not idempotent", `return 503 "its own";`, ask{method: "POST", body: "order"}, 1, classify.Transient, engine.ReasonNotReplayable, nil, 500},
		{"a throttled POST neither", `return 429 "its own";`, ask{method: "POST", body: "order"}, 1, classify.Throttling, engine.ReasonNotReplayable, nil, 500},
		{"a POST with a key is", `return 503 "its own";`, ask{method: "POST", body: "order", key: "k1"}, 3, classify.Transient, engine.ReasonMaxAttempts, ms(25, 50), 472},

		{"R3.1 code in JSON", jsonBody + `400 '{"__type":"com.amazon#ThrottlingException","its own":1}';`, ask{}, 3, classify.Throttling, engine.ReasonMaxAttempts, ms(500, 1000), 490},
		{"R3.1 code in XML", `default_type application/xml; return 503 '<Error><Code>SlowDown</Code><Message>its own</Message></Error>';`, ask{}, 3, classify.Throttling, engine.ReasonMaxAttempts, ms(500, 1000), 490},
		{"R3.1 code in a header", `add_header x-amzn-errortype ThrottlingException:http://x/ always; return 400 "its own";`, ask{}, 3, classify.Throttling, engine.ReasonMaxAttempts, ms(500, 1000), 490},
		{"R3.3 another code", jsonBody + `400 '{"__type":"ValidationException","its own":1}';`, ask{}, 1, classify.NonRetryable, engine.ReasonNonRetryable, nil, 500},

		{"R5 a hint above the backoff", `add_header x-amz-retry-after 300 always; return 503 "its own";`, ask{}, 3, classify.Transient, engine.ReasonMaxAttempts, ms(300, 300), 472},
		{"R5 a hint below the backoff", `add_header x-amz-retry-after 30 always; return 503 "its own";`, ask{}, 3, classify.Transient, engine.ReasonMaxAttempts, ms(30, 50), 472},
		{"R5 a hint above the window", `add_header x-amz-retry-after 60000 always; return 429 "its own";`, ask{}, 3, classify.Throttling, engine.ReasonMaxAttempts, ms(5500, 6000), 490},
		{"R5.2 a hint that no integer holds", `add_header x-amz-retry-after 99999999999999999999999 always; return 503 "its own";`, ask{}, 3, classify.Transient, engine.ReasonMaxAttempts, ms(5025, 5050), 472},
		{"R5.1 a hint that is none", `add_header x-amz-retry-after 1.5 always; return 503 "its own";`, ask{}, 3, classify.Transient, engine.ReasonMaxAttempts, ms(25, 50), 472},
		{"R5.1 a negative hint", `add_header x-amz-retry-after -300 always; return 503 "its own";`, ask{}, 3, classify.Transient, engine.ReasonMaxAttempts, ms(25, 50), 472},
		{"R5.1 a hint makes nothing retryable", `add_header x-amz-retry-after 300 always; return 404 "its own";`, ask{}, 1, classify.NonRetryable, engine.ReasonNonRetryable, nil, 500},
	}
}

func TestAnswers(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		for _, row := range rows() {
			t.Run(row.name, func(t *testing.T) {
				server := nginx(t, "", "location / { "+row.location+" }")
				e := watch(t)
				row.ask.url = server.url + "/"
				got := d.open(t, e.Engine, 0)(t.Context(), row.ask)

				assert.NoError(t, got.err)
				assert.Equal(t, row.attempts, got.attempts)
				assert.Equal(t, row.reason, got.reason)
				if row.reason != engine.ReasonNonRetryable {
					assert.Equal(t, row.class, got.class)
				}
				assert.Equal(t, row.delays, e.delays)
				assert.Equal(t, row.tokens, e.tokens(), "R6")
				seen := server.requests(t)
				assert.Len(t, seen, row.attempts, "what arrived")
				if assert.NotEmpty(t, seen) {
					assert.Equal(t, seen[len(seen)-1].status, got.status, "the last answer passes through")
				}
				assert.Contains(t, got.body, "its own", "and its body")
			})
		}
	})
}

// A connection that is closed without an answer (nginx's 444) is an I/O failure.
// No answer means that nobody knows what the server did with a POST.
func TestClosedWithoutAnswer(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		server := nginx(t, "", "location / { return 444; }")
		e := watch(t)
		send := d.open(t, e.Engine, 0)
		got := send(t.Context(), ask{url: server.url})
		assert.Error(t, got.err)
		assert.Equal(t, 3, got.attempts)
		assert.Equal(t, classify.Transient, got.class, "R3.2")
		assert.Equal(t, engine.ReasonMaxAttempts, got.reason)
		assert.Equal(t, ms(25, 50), e.delays)

		post := send(t.Context(), ask{url: server.url, method: http.MethodPost, body: "order", call: "post"})
		assert.Equal(t, engine.ReasonNotReplayable, post.reason)
		assert.Equal(t, 1, post.attempts)
		assert.ErrorIs(t, post.err, engine.ErrNotReplayable)
		assert.Equal(t, 472, e.tokens())
		assert.Len(t, server.requests(t), 4)
	})
}

// A body that nginx does not want is answered before it was sent to its end.
func TestBodyTooLarge(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		for _, size := range []int{1<<10 + 1, 64<<10 + 1, 4 << 20} {
			server := nginx(t, "client_max_body_size 1k;", `location / { return 200 "taken"; }`)
			e := watch(t)
			got := d.open(t, e.Engine, 0)(t.Context(), ask{url: server.url, method: http.MethodPut, body: strings.Repeat("x", size)})
			assert.NoError(t, got.err, "%d bytes", size)
			assert.Equal(t, http.StatusRequestEntityTooLarge, got.status, "%d bytes", size)
			assert.Equal(t, 1, got.attempts, "R3.3")
			assert.Equal(t, 500, e.tokens())
			assert.Len(t, server.requests(t), 1, "%d bytes", size)
		}
	})
}
