package trace

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// sampled returns a Tracer that samples everything, and what its spans are recorded by.
func sampled() (*Tracer, *tracetest.SpanRecorder) {
	recorder := tracetest.NewSpanRecorder()
	p := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	return &Tracer{p, p.Tracer(scope)}, recorder
}

// Those who wait may come before, while and after the work is done; who is not sampled leaves no trace.
func TestSharedWorkHasOneSpanToWhichTheOthersLink(t *testing.T) {
	tracer, recorder := sampled()
	waiter := func() (context.Context, Span) {
		return tracer.Begin(httptest.NewRequest("GET", "/", nil), nil, time.Now())
	}
	for first := range 3 {
		work, began := tracer.Share("work"), time.Now()
		var waiters []Span
		for moment := range 3 {
			if moment == 1 {
				ctx := work.In(t.Context())
				if _, request := Start(ctx, "request"); request.Recorded() != (first == 0) {
					t.Errorf("with the first waiter at %d, the request of the work is recorded: %v", first, request.Recorded())
				}
			}
			if moment == 2 {
				work.End()
			}
			ctx := t.Context()
			if moment >= first {
				var s Span
				ctx, s = waiter()
				waiters = append(waiters, s)
			}
			work.Join(ctx)
		}
		ended := recorder.Ended()
		if len(ended) != first+1 {
			t.Fatalf("%d spans of work ended, want %d", len(ended), first+1)
		}
		span := ended[first]
		if span.Parent().SpanID() != waiters[0].span.SpanContext().SpanID() || span.StartTime().After(began) {
			t.Errorf("the span of the work: %v", span)
		}
		for i, w := range waiters {
			links := w.span.(sdk.ReadOnlySpan).Links()
			if want := min(i, 1); len(links) != want || want == 1 && links[0].SpanContext.SpanID() != span.SpanContext().SpanID() {
				t.Errorf("waiter %d has links %v", i, links)
			}
		}
	}
}

func TestNothingIsAllocatedWithoutASampledRequest(t *testing.T) {
	var off *Tracer
	var work Shared
	r := httptest.NewRequest("GET", "/", nil)
	allocated := testing.AllocsPerRun(100, func() {
		ctx, span := off.Begin(r, nil, time.Time{})
		ctx, child := Start(ctx, "child")
		child.Set("key", "value")
		child.End()
		work.Join(ctx)
		_ = work.In(ctx)
		Past(ctx, "past", time.Time{}, &work)
		pieces := InPieces(ctx, "pieces")
		pieces.Done(pieces.Begin())
		pieces.End()
		span.Status(200)
		span.End()
	})
	if allocated > 0 {
		t.Errorf("%v allocations", allocated)
	}
	if rt := off.Wrap("self", nil); rt != nil {
		t.Errorf("wrapped: %v", rt)
	}
}

// One span shows all pieces, and none shows that there was none.
func TestPiecesAreOneSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer, recorder := sampled()
		ctx, _ := tracer.Begin(httptest.NewRequest("GET", "/", nil), nil, time.Now())
		p := InPieces(ctx, "pieces")
		p.End()
		time.Sleep(time.Second) // before the first
		began := time.Now()
		for range 3 {
			at := p.Begin()
			time.Sleep(time.Millisecond)
			p.Done(at)
			time.Sleep(time.Second) // between two, and after the last
		}
		for range 2 {
			p.End()
		}
		ended := recorder.Ended()
		if len(ended) != 1 || ended[0].StartTime() != began || ended[0].EndTime().Sub(began) != 2*time.Second+3*time.Millisecond {
			t.Fatalf("%v", ended)
		}
		got := map[string]int64{}
		for _, a := range ended[0].Attributes() {
			got[string(a.Key)] = a.Value.AsInt64()
		}
		if got["sluice.pieces"] != 3 || got["sluice.pieces_us"] != 3000 {
			t.Errorf("attributes %v", got)
		}
	})
}
