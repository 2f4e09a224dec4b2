// Package spantest records spans for tests of what requests wait for.
package spantest

import (
	"context"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// Sampled returns a context with the span of a sampled request, and what counts the spans that have ended, by their names.
func Sampled(ctx context.Context) (sampled context.Context, ended func() map[string]int) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	sampled, _ = provider.Tracer("test").Start(ctx, "request")
	return sampled, func() map[string]int {
		names := map[string]int{}
		for _, s := range recorder.Ended() {
			names[s.Name()]++
		}
		return names
	}
}
