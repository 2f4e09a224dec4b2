package trace

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Shared is work that several requests wait for, such as a review. The first sampled request among them has its span as a
// child, and the spans of the others link to it. The zero value is work that has not begun.
type Shared struct {
	mu           sync.Mutex // guards what follows
	name         string
	began, ended time.Time
	span         Span // nothing until a sampled request waits for the work
}

// Share returns work that begins now.
func (t *Tracer) Share(name string) *Shared {
	s := &Shared{}
	s.Begin(name)
	return s
}

// Begin begins the work.
func (s *Shared) Begin(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name, s.began = name, time.Now()
}

// Join says that what the span of ctx stands for waits for the work, or has waited for it. It is safe on nil.
func (s *Shared) Join(ctx context.Context) {
	waits := trace.SpanFromContext(ctx)
	if s == nil || !waits.IsRecording() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.span.Recorded() {
		waits.AddLink(trace.Link{SpanContext: s.span.span.SpanContext()})
		return
	}
	_, s.span = start(ctx, s.name, trace.SpanKindInternal, s.began)
	s.end()
}

// In returns a context for the requests of the work, which are children of its span if a sampled request waits for it already.
func (s *Shared) In(ctx context.Context) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.span.Recorded() {
		return trace.ContextWithSpan(ctx, s.span.span)
	}
	return ctx
}

// End ends the work.
func (s *Shared) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = time.Now()
	s.end()
}

// end ends the span if the work has ended. The caller must hold mu.
func (s *Shared) end() {
	if !s.ended.IsZero() && s.span.Recorded() {
		s.span.span.End(trace.WithTimestamp(s.ended))
	}
}
