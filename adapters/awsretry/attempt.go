package awsretry

import (
	"context"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// attempt is the middleware after the SDK's "Retry": it numbers the attempt,
// which the SDK's loop believes to be the first (R9).
type attempt struct{}

func (attempt) ID() string { return attemptID }

func (attempt) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	if x := exchangeOf(ctx); x != nil && x.asked {
		if req, ok := in.Request.(*smithyhttp.Request); ok {
			req.Header[attemptHeader] = []string{numbered(req.Header.Get(attemptHeader), x.number, x.engine.MaxAttempts())}
		}
	}
	return next.HandleFinalize(ctx, in)
}

const attemptHeader = "Amz-Sdk-Request"

// numbered returns an Amz-Sdk-Request with another attempt and maximum; what
// else it says stays.
func numbered(header string, attempt, most int) string {
	value := "attempt=" + strconv.Itoa(attempt) + "; max=" + strconv.Itoa(most)
	for part := range strings.SplitSeq(header, ";") {
		part = strings.TrimSpace(part)
		if part == "" || strings.HasPrefix(part, "attempt=") || strings.HasPrefix(part, "max=") {
			continue
		}
		value += "; " + part
	}
	return value
}

// countOf returns what the SDK's loop knows of the attempt that ctx belongs to:
// its number, from 1, and the most there may be; 0 is unknown or no limit. The
// SDK keeps the two for itself but for the header that it makes of them.
func countOf(ctx context.Context) (attempt, most int) {
	req, ok := smithyhttp.NewStackRequest().(*smithyhttp.Request)
	if !ok {
		return 0, 0
	}
	//lint:ignore SA1019 the only public sight of the attempt's number
	_, _, err := retry.MetricsHeader{}.HandleFinalize(ctx, middleware.FinalizeInput{Request: req}, nowhere)
	if err != nil {
		return 0, 0
	}
	for part := range strings.SplitSeq(req.Header.Get(attemptHeader), ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(value)
		switch {
		case err != nil || n < 0:
		case name == "attempt":
			attempt = n
		case name == "max":
			most = n
		}
	}
	return attempt, most
}

var nowhere = middleware.FinalizeHandlerFunc(func(context.Context, middleware.FinalizeInput) (
	out middleware.FinalizeOutput, metadata middleware.Metadata, err error,
) {
	return out, metadata, nil
})
