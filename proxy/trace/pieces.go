package trace

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Pieces is something that a request does again and again, such as waiting for its turn. One span shows it from the first
// piece to the end of the last, with the number of pieces and the time that they took together. Its methods can be called
// on nil, which records nothing.
type Pieces struct {
	ctx          context.Context
	name         string
	began, ended time.Time
	took         time.Duration
	n            int64
}

// InPieces returns what records pieces under the span of ctx; nil without one.
func InPieces(ctx context.Context, name string) *Pieces {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return nil
	}
	return &Pieces{ctx: ctx, name: name}
}

// Begin returns when a piece begins.
func (p *Pieces) Begin() (at time.Time) {
	if p != nil {
		at = time.Now()
	}
	return at
}

// Done ends the piece that began at a time.
func (p *Pieces) Done(at time.Time) {
	if p == nil {
		return
	}
	if p.ended = time.Now(); p.n == 0 {
		p.began = at
	}
	p.took += p.ended.Sub(at)
	p.n++
}

// End records the span, unless there was no piece.
func (p *Pieces) End() {
	if p == nil || p.n == 0 {
		return
	}
	_, s := start(p.ctx, p.name, trace.SpanKindInternal, p.began)
	s.SetInt("sluice.pieces", p.n)
	s.SetInt("sluice.pieces_us", p.took.Microseconds())
	s.span.End(trace.WithTimestamp(p.ended))
	p.n, p.took = 0, 0
}
