// Command metrics sends three requests to a server that fails now and then, and
// shows what a trace and Prometheus see of it.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/adapters/otelretry"
	"github.com/reprise-go/reprise/adapters/promretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	// Each engine has one recorder; spans are for any number of engines.
	recorder := promretry.NewRecorder()
	e, err := engine.New(
		engine.WithObserver(otelretry.Spans(otelretry.WithHTTP()).Then(recorder.Observer())),
		engine.WithSource(fastbackoff.Fixed(0)), // no waiting here
	)
	if err != nil {
		return err
	}
	collector, err := promretry.New("orders", e, promretry.WithRecorder(recorder))
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry() // prometheus.DefaultRegisterer, in most programs
	if err := registry.Register(collector); err != nil {
		return err
	}

	spans := tracetest.NewInMemoryExporter() // an OTLP exporter, in most programs
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	url, end, err := serve(200, 503, 200, 503, 429, 503)
	if err != nil {
		return err
	}
	defer end()
	client := httpretry.Client(e)
	defer client.CloseIdleConnections()
	for _, order := range []string{"/first", "/second", "/third"} {
		ctx, span := provider.Tracer("shop").Start(context.Background(), order)
		if err := get(ctx, client, url+order); err != nil {
			return err
		}
		span.End()
	}

	for _, span := range spans.GetSpans() {
		fmt.Fprintln(out, "span", span.Name)
		for _, a := range span.Attributes {
			fmt.Fprintf(out, "  %s=%s\n", a.Key, a.Value.String())
		}
		for _, event := range span.Events {
			fmt.Fprint(out, "  ", event.Name)
			for _, a := range event.Attributes {
				fmt.Fprintf(out, " %s=%s", a.Key, a.Value.String())
			}
			fmt.Fprintln(out)
		}
	}
	return show(out, registry)
}

// get sends a request and reads the answer.
func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

// serve answers on loopback with one status after the other.
func serve(statuses ...int) (url string, end func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	var sent atomic.Int32
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(statuses[int(sent.Add(1)-1)%len(statuses)])
	})}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() { _ = server.Close() }, nil
}

// show prints what Prometheus would scrape, but for what is zero and the histogram.
func show(out io.Writer, from prometheus.Gatherer) error {
	families, err := from.Gather()
	if err != nil {
		return err
	}
	var page strings.Builder
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&page, family); err != nil {
			return err
		}
	}
	for line := range strings.Lines(page.String()) {
		if !strings.HasPrefix(line, "#") && !strings.HasSuffix(line, " 0\n") && !strings.Contains(line, "_delay_") {
			fmt.Fprint(out, line)
		}
	}
	return nil
}
