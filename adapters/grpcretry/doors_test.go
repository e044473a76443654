package grpcretry_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// A door is a way into the engine: it makes one call, with whatever retries the
// engine grants. A new one is a line in doors.
type door struct {
	name string
	call func(t *testing.T, ctx context.Context, e *engine.Engine, f *fault) (hits func() int)
}

var doors = []door{
	{"Do", throughDo},
	{"net/http", throughHTTP},
	{"unary", through(callUnary)},
	{"server stream", through(callOutput)},
	{"client stream", through(callInput)},
	{"bidi", through(callDuplex)},
}

// Peer fault 130: one table for all doors. The same fault has the same class, the
// same delay and the same price, and ends for the same reason, whichever door a
// call goes through; and as many requests arrive.
func TestDoorsAgree(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			for _, d := range doors {
				if f.differs[d.name] != "" {
					continue
				}
				t.Run(d.name, func(t *testing.T) { f.through(t, d) })
			}
		})
	}
}

func (f *fault) through(t *testing.T, d door) {
	ctx := t.Context()
	if f.bound > 0 {
		bounded, stop := context.WithTimeout(ctx, f.bound)
		defer stop()
		ctx = bounded
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	clock := &leap{leave: func() {
		if f.hang {
			leave()
		}
	}}
	var ev events
	e := newEngine(t, append([]engine.Option{engine.WithClock(clock), ev.observer()}, f.engine...)...)

	hits := d.call(t, ctx, e, f)

	var retries []retry
	for _, r := range ev.retries {
		retries = append(retries, retry{r.Class, r.Delay, r.Cost})
	}
	assert.Equal(t, f.retries, retries)
	if f.stop == none {
		assert.Empty(t, ev.stops)
		require.Len(t, ev.success, 1)
		assert.Equal(t, max(f.hits, 1), ev.success[0].Attempts)
	} else {
		require.Len(t, ev.stops, 1)
		assert.Empty(t, ev.success)
		assert.Equal(t, f.stop.String(), ev.stops[0].Reason.String())
		assert.Equal(t, f.class, ev.stops[0].Class)
	}
	assert.Equal(t, f.left, level(e))
	assert.Equal(t, f.hits, hits())
}

// leap is a clock on which waits are over at once.
type leap struct {
	mu    sync.Mutex
	ahead time.Duration
	leave func() // called in each wait
}

func (c *leap) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *leap) Sleep(_ context.Context, d time.Duration, _ <-chan struct{}) {
	c.mu.Lock()
	c.ahead += d
	c.mu.Unlock()
	c.leave()
}

// through is a door of this package: a call through its interceptors, over TCP.
func through(call func(ctx context.Context, client testpb.TestServiceClient) (string, error)) func(*testing.T, context.Context, *engine.Engine, *fault) func() int {
	return func(t *testing.T, ctx context.Context, e *engine.Engine, f *fault) func() int {
		var opts []grpcretry.Option
		if !f.once {
			opts = append(opts, grpcretry.WithAnyMethod())
		}
		if f.attempt > 0 {
			opts = append(opts, grpcretry.WithAttemptTimeout(f.attempt))
		}
		s, target := f.serve(t)
		conn := dialTo(t, target, newInterceptor(t, e, opts...))
		f.ready(t, conn)
		reply, err := call(ctx, testpb.NewTestServiceClient(conn))
		f.check(t, reply, err)
		return s.count
	}
}

func (f *fault) check(t *testing.T, reply string, err error) {
	if f.stop == none {
		require.NoError(t, err)
		assert.Equal(t, "hello", reply)
	} else {
		require.Error(t, err)
	}
}

func callUnary(ctx context.Context, client testpb.TestServiceClient) (string, error) {
	resp, err := client.UnaryCall(ctx, &testpb.SimpleRequest{})
	return resp.GetUsername(), err
}

func callOutput(ctx context.Context, client testpb.TestServiceClient) (string, error) {
	stream, err := client.StreamingOutputCall(ctx, request(""))
	if err != nil {
		return "", err
	}
	return all(stream.Recv)
}

func callInput(ctx context.Context, client testpb.TestServiceClient) (string, error) {
	stream, err := client.StreamingInputCall(ctx)
	if err != nil {
		return "", err
	}
	for _, text := range []string{"hel", "lo"} {
		if err := stream.Send(input(text)); err != nil {
			break
		}
	}
	resp, err := stream.CloseAndRecv()
	if resp.GetAggregatedPayloadSize() == 5 {
		return "hello", err
	}
	return "", err
}

func callDuplex(ctx context.Context, client testpb.TestServiceClient) (string, error) {
	stream, err := client.FullDuplexCall(ctx)
	if err != nil {
		return "", err
	}
	for _, text := range []string{"hel", "lo"} {
		if err := stream.Send(request(text)); err != nil {
			break
		}
	}
	if err := stream.CloseSend(); err != nil {
		return "", err
	}
	return all(stream.Recv)
}

// all is what comes until the end.
func all(receive func() (*testpb.StreamingOutputCallResponse, error)) (text string, _ error) {
	for {
		resp, err := receive()
		if err == io.EOF {
			return text, nil
		} else if err != nil {
			return text, err
		}
		text += string(resp.GetPayload().GetBody())
	}
}

// serve serves the fault on 127.0.0.1.
func (f *fault) serve(t *testing.T) (*service, string) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	target := "passthrough:///" + ln.Addr().String()
	if f.script == nil {
		require.NoError(t, ln.Close())
		return &service{}, target
	}
	kept := &keptConns{Listener: ln}
	s := f.service(kept)
	serveOn(t, kept, s)
	return s, target
}

// service has the fault; it needs kept for those of connections alone.
func (f *fault) service(kept *keptConns) *service {
	s := &service{}
	answer := func(n int, stream grpc.ServerStream, ctx context.Context) error {
		return f.script[min(n, len(f.script))-1].give(ctx, kept, stream)
	}
	s.unary = func(n int, ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		if err := answer(n, nil, ctx); err != nil {
			return nil, err
		}
		return &testpb.SimpleResponse{Username: "hello"}, nil
	}
	s.output = func(n int, _ *testpb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]) error {
		if err := answer(n, stream, stream.Context()); err != nil {
			return err
		}
		return stream.Send(output("hello"))
	}
	s.input = func(n int, stream grpc.ClientStreamingServer[testpb.StreamingInputCallRequest, testpb.StreamingInputCallResponse]) error {
		if err := answer(n, stream, stream.Context()); err != nil {
			return err
		}
		return stream.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: int32(receiveAll(stream))})
	}
	s.duplex = func(n int, stream grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
		if err := answer(n, stream, stream.Context()); err != nil {
			return err
		}
		return echo(stream)
	}
	return s
}

// ready connects, so that no time-out is spent on that.
func (f *fault) ready(t *testing.T, conn *grpc.ClientConn) {
	if f.script == nil {
		return
	}
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		require.True(t, conn.WaitForStateChange(t.Context(), state))
	}
}

// keptConns is a listener that can end its connections.
type keptConns struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (k *keptConns) Accept() (net.Conn, error) {
	conn, err := k.Listener.Accept()
	if err == nil {
		k.mu.Lock()
		k.conns = append(k.conns, conn)
		k.mu.Unlock()
	}
	return conn, err
}

func (k *keptConns) hangUp(reset bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, conn := range k.conns {
		if tcp, ok := conn.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	k.conns = nil
}

// throughHTTP is the same fault in HTTP's words.
func throughHTTP(t *testing.T, ctx context.Context, e *engine.Engine, f *fault) func() int {
	url, hits := f.serveHTTP(t)
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	opts := []httpretry.Option{httpretry.WithBase(transport)}
	if f.attempt > 0 {
		opts = append(opts, httpretry.WithAttemptTimeout(f.attempt))
	}
	method := http.MethodGet
	if f.once {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	require.NoError(t, err)
	resp, err := httpretry.Client(e, opts...).Do(req)
	if err == nil {
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if f.stop == none {
			assert.Equal(t, "hello", string(body))
		}
	} else {
		assert.NotEqual(t, none, f.stop, "%v", err)
	}
	return hits
}

func (f *fault) serveHTTP(t *testing.T) (url string, hits func() int) {
	var mu sync.Mutex
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		n++
		s := f.script[min(n, len(f.script))-1]
		mu.Unlock()
		s.giveHTTP(w, req)
	}))
	if f.script == nil {
		server.Close()
	} else {
		t.Cleanup(server.Close)
	}
	return server.URL, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// throughDo is what a user of engine.Do writes around a bare client: an answer
// that is a failure becomes an error that says so.
func throughDo(t *testing.T, ctx context.Context, e *engine.Engine, f *fault) func() int {
	s, target := f.serve(t)
	conn := dialTo(t, target, nil, grpc.WithDisableRetry())
	f.ready(t, conn)
	client := testpb.NewTestServiceClient(conn)
	reply, err := engine.Do(ctx, e, func(ctx context.Context) (string, error) {
		if f.attempt > 0 {
			bounded, stop := context.WithTimeout(ctx, f.attempt)
			defer stop()
			ctx = bounded
		}
		reply, err := callUnary(ctx, client)
		if err != nil {
			n := min(s.count(), len(f.script))
			return "", failedAnswer{err, f.script[max(n, 1)-1:][:min(n, 1)]}
		}
		return reply, nil
	})
	f.check(t, reply, err)
	return s.count
}

// failedAnswer is a status as an error that engine.Do understands.
type failedAnswer struct {
	err  error
	said []script
}

func (a failedAnswer) Error() string       { return a.err.Error() }
func (a failedAnswer) Unwrap() error       { return a.err }
func (a failedAnswer) HTTPStatusCode() int { return httpStatus[status.Code(a.err)] }

func (a failedAnswer) ErrorCode() string {
	for _, detail := range status.Convert(a.err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

func (a failedAnswer) RetryAfter() time.Duration {
	for _, s := range a.said {
		if s.retryInfo > 0 {
			return s.retryInfo
		} else if len(s.pushback) == 1 {
			return engine.ParseRetryAfter(s.pushback[0])
		}
	}
	return 0
}

// httpStatus is what google.rpc.Code says of its codes in HTTP.
var httpStatus = map[codes.Code]int{
	codes.Canceled: 499, codes.Unknown: 500, codes.InvalidArgument: 400, codes.DeadlineExceeded: 504, codes.NotFound: 404,
	codes.AlreadyExists: 409, codes.PermissionDenied: 403, codes.ResourceExhausted: 429, codes.FailedPrecondition: 400,
	codes.Aborted: 409, codes.OutOfRange: 400, codes.Unimplemented: 501, codes.Internal: 500, codes.Unavailable: 503,
	codes.DataLoss: 500, codes.Unauthenticated: 401,
}

func (s script) giveHTTP(w http.ResponseWriter, req *http.Request) {
	switch s.kind {
	case silence:
		<-req.Context().Done()
		return
	case hangUp, reset:
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(fmt.Sprint(err))
		}
		if s.kind == reset {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		_ = conn.Close()
		return
	}
	if s.code == codes.OK {
		_, _ = io.WriteString(w, "hello")
		return
	}
	if s.reason != "" {
		w.Header().Set("X-Amzn-Errortype", s.reason)
	}
	if len(s.pushback) > 0 {
		w.Header().Set("X-Amz-Retry-After", s.pushback[0])
	}
	if s.retryInfo > 0 {
		w.Header().Set("X-Amz-Retry-After", strconv.FormatInt(s.retryInfo.Milliseconds(), 10))
	}
	w.WriteHeader(httpStatus[s.code])
}
