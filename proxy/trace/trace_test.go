package trace

import (
	"net/http/httptest"
	"testing"
	"time"
)

func TestNothingIsAllocatedWithoutASampledRequest(t *testing.T) {
	var off *Tracer
	r := httptest.NewRequest("GET", "/", nil)
	allocated := testing.AllocsPerRun(100, func() {
		ctx, span := off.Begin(r, nil, time.Time{})
		child := Start(ctx, "child")
		child.Set("key", "value")
		child.End()
		Past(ctx, "past", time.Time{})
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
