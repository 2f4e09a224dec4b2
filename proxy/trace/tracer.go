package trace

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	scope = "sluice"
	// exportLimit bounds how long the last spans are sent when Sluice ends.
	exportLimit = 5 * time.Second
)

// Tracer records spans. A nil Tracer records none.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// New returns a Tracer that sends spans to an endpoint by OTLP over HTTP, those of one request in a million by perMillion.
// The environment variables of OpenTelemetry set the rest, such as headers and attributes of the process.
func New(endpoint string, perMillion int, version string, log *zap.Logger) (*Tracer, error) {
	ctx := context.Background()
	collector, err := newCollector(endpoint)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	process, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "sluice"), attribute.String("service.version", version),
		attribute.String("service.instance.id", uuid.NewString()),
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are not sent", zap.Error(err)) }))
	p := sdk.NewTracerProvider(sdk.WithBatcher(otlptrace.NewUnstarted(collector)), sdk.WithResource(process),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(float64(perMillion)/1e6))))
	return &Tracer{p, p.Tracer(scope)}, nil
}

// Run sends the last spans when ctx ends, and always returns nil.
func (t *Tracer) Run(ctx context.Context) error {
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportLimit)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the collector is gone
	return nil
}

// Begin begins the span of a request of a caller, nil for one without a name, and returns a context for the
// request. The context is the same, and the span nothing, if the request is not sampled.
func (t *Tracer) Begin(r *http.Request, caller user.Info, began time.Time) (context.Context, Span) {
	if t == nil {
		return r.Context(), Span{}
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(began)}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	if from := trace.SpanContextFromContext(ctx); from.IsValid() && !trusted(caller) {
		options = append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: from}))
	}
	ctx, span := t.tracer.Start(ctx, Method(r), options...)
	if !span.IsRecording() {
		return r.Context(), Span{}
	}
	return ctx, Span{span}
}

// trusted reports whether a caller may have its requests sampled, as at the apiserver: spans cost the collector.
func trusted(caller user.Info) bool {
	return caller != nil && slices.ContainsFunc(caller.GetGroups(), func(g string) bool {
		return g == user.SystemPrivilegedGroup || g == user.MonitoringGroup
	})
}
