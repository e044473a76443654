package awsretry

import (
	"context"
	"strings"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"

	"github.com/reprise-go/reprise/engine"
)

// logRetry tells the client's logger of a retry, if aws.LogRetries is set.
func (x *exchange) logRetry(ctx context.Context, err error, o engine.Outcome, d engine.Decision) {
	if x.log {
		if asked := retryAfter(err); asked != "" && o.RetryAfter == 0 && strings.Trim(asked, "0") != "" {
			x.logf(ctx, "the x-amz-retry-after header is %q and not a number of milliseconds: ignored", asked)
		}
		x.logf(ctx, "attempt %d of %d of %s/%s failed (%v), next in %v: %v",
			x.number, x.engine.MaxAttempts(), awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx),
			o.Class, d.Delay.Round(time.Microsecond), err)
	}
}

// logEnd tells the client's logger how a call ended that has failed.
func (x *exchange) logEnd(ctx context.Context, err error, d engine.Decision) {
	if x.log {
		x.logf(ctx, "attempt %d of %d of %s/%s failed, no retry (%v): %v",
			x.number, x.engine.MaxAttempts(), awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx),
			d.Reason, err)
	}
}

func (x *exchange) logf(ctx context.Context, format string, v ...any) {
	middleware.GetLogger(ctx).Logf(logging.Debug, "reprise/awsretry: "+format, v...)
}
