package awsretry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/metrics"
	"github.com/aws/smithy-go/middleware"
	"github.com/aws/smithy-go/tracing"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/engine"
)

// client is what the SDK's generator makes of a service, as small as it can be:
// the same middlewares in the same order around an operation without a model.
type client struct {
	options
	skew *atomic.Int64
}

// options are a client's; a call may change its own copy.
type options struct {
	service, region  string
	retryer          aws.Retryer
	retryMaxAttempts int
	apiOptions       []func(*middleware.Stack) error
	http             smithyhttp.ClientDo
	logger           logging.Logger
	logMode          aws.ClientLogMode
	meter            metrics.Meter
	tracer           tracing.Tracer
	longPolling      bool
	noLoop           bool
	oldHeader        bool // the client is of an older service module
	oldSkew          bool // and of one that is older yet, which keeps no skew
	checksum         bool
	body             io.Reader
	modelled         func(code string) error // a code's own type; nil: none
}

// newClient makes a client from a config as NewFromConfig does.
func newClient(cfg aws.Config, service string, fns ...func(*options)) *client {
	o := options{
		service: service, region: cfg.Region, retryMaxAttempts: cfg.RetryMaxAttempts,
		apiOptions: cfg.APIOptions, http: cfg.HTTPClient, logger: cfg.Logger, logMode: cfg.ClientLogMode,
		meter: metrics.NopMeterProvider{}.Meter(""), tracer: (&tracing.NopTracerProvider{}).Tracer(""),
	}
	if o.logger == nil {
		o.logger = logging.Nop{}
	}
	if cfg.Retryer != nil {
		o.retryer = cfg.Retryer()
	} else {
		o.retryer = retry.NewStandard()
	}
	for _, fn := range fns {
		fn(&o)
	}
	if o.retryMaxAttempts != 0 {
		o.retryer = retry.AddWithMaxAttempts(o.retryer, o.retryMaxAttempts)
	}
	return &client{options: o, skew: new(atomic.Int64)}
}

// input is the operation's.
type input struct {
	TableName    *string
	RequestItems map[string]int
}

// call makes a call and returns what the client of a service would.
func (c *client) call(ctx context.Context, operation string, in any, fns ...func(*options)) (any, middleware.Metadata, error) {
	ctx = middleware.ClearStackValues(ctx)
	stack := middleware.NewStack(operation, smithyhttp.NewStackRequest)
	o := c.options
	for _, fn := range fns {
		fn(&o)
	}
	if o.retryMaxAttempts != 0 && o.retryMaxAttempts != c.retryMaxAttempts {
		o.retryer = retry.AddWithMaxAttempts(o.retryer, o.retryMaxAttempts)
	}
	ctx = middleware.WithServiceID(ctx, o.service)
	ctx = middleware.WithOperationName(ctx, operation)
	ctx = middleware.SetLogger(ctx, o.logger)
	ctx = awsmiddleware.SetServiceID(ctx, o.service)
	ctx = awsmiddleware.SetRegion(ctx, o.region)
	ctx = awsmiddleware.SetOperationName(ctx, operation)
	ctx = tracing.WithOperationTracer(ctx, o.tracer)

	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(stack.Finalize.Add(signing{}, middleware.After))
	must(stack.Build.Add(&awsmiddleware.ClientRequestID{}, middleware.After))
	sdk := retry.NewAttemptMiddleware(o.retryer, smithyhttp.RequestCloner, func(m *retry.Attempt) {
		m.LogAttempts = o.logMode.IsRetries()
		m.OperationMeter = o.meter
		if !o.oldSkew {
			m.ClientSkew = c.skew
		}
	})
	if !o.noLoop {
		must(stack.Finalize.Insert(sdk, "Signing", middleware.Before))
	}
	if o.oldHeader {
		//lint:ignore SA1019 what older service modules have
		must(stack.Finalize.Insert(&retry.MetricsHeader{}, "Retry", middleware.After))
	}
	must(stack.Deserialize.Add(&awsmiddleware.AddRawResponse{}, middleware.Before))
	must(stack.Serialize.Add(serializer{o.body}, middleware.After))
	must(stack.Deserialize.Add(deserializer{o.modelled}, middleware.After))
	must(stack.Deserialize.Add(&awsmiddleware.RecordResponseTiming{}, middleware.After))
	if o.longPolling {
		must(stack.Initialize.Add(setLongPolling{}, middleware.Before))
	}
	must(stack.Deserialize.Insert(&awsmiddleware.RequestIDRetriever{}, "OperationDeserializer", middleware.Before))
	must(stack.Deserialize.Insert(&awshttp.ResponseErrorWrapper{}, "RequestIDRetriever", middleware.Before))
	if o.checksum {
		must(stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("DynamoDB:ResponseChecksumValidation", through), middleware.After))
	}
	for _, fn := range o.apiOptions {
		must(fn(stack))
	}
	ctx, span := o.tracer.StartSpan(ctx, o.service+"."+operation)
	defer span.End()
	result, metadata, err := middleware.DecorateHandler(smithyhttp.NewClientHandlerWithOptions(o.http), stack).Handle(ctx, in)
	if err != nil {
		err = &smithy.OperationError{ServiceID: o.service, OperationName: operation, Err: err}
	}
	return result, metadata, err
}

func through(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	return next.HandleDeserialize(ctx, in)
}

// signing stands for the signature.
type signing struct{}

func (signing) ID() string { return "Signing" }

func (signing) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	in.Request.(*smithyhttp.Request).Header.Set("Authorization", "signed")
	return next.HandleFinalize(ctx, in)
}

type setLongPolling struct{}

func (setLongPolling) ID() string { return "SetLongPollingContext" }

func (setLongPolling) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	return next.HandleInitialize(ctx, in)
}

type serializer struct{ body io.Reader }

func (serializer) ID() string { return "OperationSerializer" }

func (s serializer) HandleSerialize(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (
	middleware.SerializeOutput, middleware.Metadata, error,
) {
	req := in.Request.(*smithyhttp.Request)
	req.Method = http.MethodPost
	req.URL.Scheme, req.URL.Host, req.URL.Path = "https", "service.test", "/"
	body := s.body
	if body == nil {
		body = strings.NewReader("{}")
	}
	req, err := req.SetStream(body)
	if err != nil {
		return middleware.SerializeOutput{}, middleware.Metadata{}, err
	}
	in.Request = req
	return next.HandleSerialize(ctx, in)
}

type deserializer struct{ modelled func(string) error }

func (deserializer) ID() string { return "OperationDeserializer" }

func (d deserializer) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	out, metadata, err := next.HandleDeserialize(ctx, in)
	if err != nil {
		return out, metadata, err
	}
	resp := out.RawResponse.(*smithyhttp.Response)
	defer smithyhttp.CloseResponseBody(ctx, resp, false, nil)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return out, metadata, &smithy.DeserializationError{Err: err}
	}
	if resp.StatusCode < 300 {
		out.Result = string(body)
		return out, metadata, nil
	}
	var answer struct {
		Type string `json:"__type"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return out, metadata, &smithy.DeserializationError{Err: err}
	}
	if d.modelled != nil {
		if err := d.modelled(answer.Type); err != nil {
			return out, metadata, err
		}
	}
	return out, metadata, &smithy.GenericAPIError{Code: answer.Type, Message: "no"}
}

// server answers requests by a script, from any goroutine.
type server struct {
	mu       sync.Mutex
	script   []answer
	always   answer // when that is over; the zero answer is 200
	requests []request
	latency  time.Duration
}

// answer is one of a script.
type answer struct {
	status int
	code   string
	body   string
	header http.Header
	err    error
	cut    bool // the body ends too early
	panics any
}

// request is one that came.
type request struct {
	at     time.Time
	header http.Header
	body   string
}

func (s *server) Do(req *http.Request) (*http.Response, error) {
	got := request{at: time.Now(), header: req.Header.Clone()}
	if req.Body != nil {
		b, _ := io.ReadAll(req.Body)
		got.body = string(b)
	}
	s.mu.Lock()
	s.requests = append(s.requests, got)
	a := s.always
	if a.status == 0 {
		a = answer{status: 200, body: "ok"}
	}
	if len(s.script) > 0 {
		a, s.script = s.script[0], s.script[1:]
	}
	s.mu.Unlock()
	if s.latency > 0 {
		select {
		case <-time.After(s.latency):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	if a.panics != nil {
		panic(a.panics)
	}
	if a.err != nil {
		return nil, a.err
	}
	if a.body == "" && a.status >= 300 {
		a.body = fmt.Sprintf(`{"__type":%q}`, a.code)
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	body := io.Reader(strings.NewReader(a.body))
	if a.cut {
		body = io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF))
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(body)}, nil
}

func (s *server) seen() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// headers returns one header of all requests.
func (s *server) headers(name string) (values []string) {
	for _, r := range s.seen() {
		values = append(values, r.header.Get(name))
	}
	return values
}

func fail(status int, code string) answer { return answer{status: status, code: code} }

func newEngine(t testing.TB, opts ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.New(opts...)
	require.NoError(t, err)
	return e
}

// applied is a config whose clients retry by e.
func applied(t testing.TB, s smithyhttp.ClientDo, e *engine.Engine, opts ...awsretry.Option) aws.Config {
	t.Helper()
	cfg := aws.Config{Region: "eu-west-1", HTTPClient: s}
	require.NoError(t, awsretry.Apply(&cfg, e, opts...))
	return cfg
}

// aws0 is a config with a Retryer.
func aws0(s smithyhttp.ClientDo, r aws.Retryer) aws.Config {
	return aws.Config{Region: "eu-west-1", HTTPClient: s, Retryer: func() aws.Retryer { return r }}
}

// silent is a server that says 200 and remembers nothing.
type silent struct{}

func (silent) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
}
