package trace

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Span is something that a request does. The zero value records nothing.
type Span struct{ span trace.Span }

// Start begins a span under the one of ctx. The context that it returns is for the work of the span.
func Start(ctx context.Context, name string) (context.Context, Span) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, Span{}
	}
	return start(ctx, name, trace.SpanKindInternal, time.Now())
}

// Past records a span under the one of ctx.
func Past(ctx context.Context, name string, began, ended time.Time) {
	if trace.SpanFromContext(ctx).IsRecording() {
		_, s := start(ctx, name, trace.SpanKindInternal, began)
		s.span.End(trace.WithTimestamp(ended))
	}
}

// Below returns a context whose spans are below the one of another context.
func Below(ctx, above context.Context) context.Context {
	return trace.ContextWithSpan(ctx, trace.SpanFromContext(above))
}

func start(ctx context.Context, name string, kind trace.SpanKind, began time.Time) (context.Context, Span) {
	provider := trace.SpanFromContext(ctx).TracerProvider()
	ctx, span := provider.Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(began))
	return ctx, Span{span}
}

// Method returns the method of a request as spans have it: a client may make one up.
func Method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "_OTHER"
}

// Recorded reports whether the span is recorded.
func (s Span) Recorded() bool { return s.span != nil }

// TraceID returns the ID of the trace; the span must be recorded.
func (s Span) TraceID() string { return s.span.SpanContext().TraceID().String() }

// Name changes the name, which may depend on how a request ends.
func (s Span) Name(name string) {
	if s.span != nil {
		s.span.SetName(name)
	}
}

// Set adds an attribute, unless it is empty.
func (s Span) Set(key, value string) {
	if s.span != nil && value != "" {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// SetInt adds an attribute.
func (s Span) SetInt(key string, value int64) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// Status adds the status of a response. Those of servers that fail are errors.
func (s Span) Status(code int) {
	s.SetInt("http.response.status_code", int64(code))
	if s.span != nil && code >= http.StatusInternalServerError {
		s.span.SetStatus(codes.Error, "")
		s.Set("error.type", http.StatusText(code))
	}
}

// End ends the span. Later calls do nothing.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}

// Wrap returns a RoundTripper that records a span, until the response begins, for each request of rt that a sampled
// request makes, and names it to the upstream. It leaves the headers of others as they are.
func (t *Tracer) Wrap(purpose string, rt http.RoundTripper) http.RoundTripper {
	if t == nil {
		return rt
	}
	return &traced{rt, "upstream " + purpose}
}

type traced struct {
	http.RoundTripper
	name string
}

func (t *traced) RoundTrip(r *http.Request) (*http.Response, error) {
	if !trace.SpanFromContext(r.Context()).IsRecording() {
		return t.RoundTripper.RoundTrip(r)
	}
	ctx, span := start(r.Context(), t.name, trace.SpanKindClient, time.Now())
	defer span.End()
	span.Set("http.request.method", Method(r))
	named := r.Clone(ctx)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(named.Header))
	resp, err := t.RoundTripper.RoundTrip(named)
	if err != nil {
		span.span.SetStatus(codes.Error, "")
		return resp, err
	}
	span.Status(resp.StatusCode)
	return resp, nil
}

// WrappedRoundTripper lets apimachinery's CloseIdleConnectionsFor find the transport.
func (t *traced) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
