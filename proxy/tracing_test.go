package proxy

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/zap"

	"sluice/proxy/request"
	"sluice/proxy/trace"
)

// TestNoRequestKeepsItsReview: a watch would keep it for hours.
func TestNoRequestKeepsItsReview(t *testing.T) {
	tracer, err := trace.New("http://127.0.0.1:1/v1/traces", 0, "v1", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	info := &request.Info{TokenReview: tracer.Share("review")}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	withTrace(tracer)(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r.WithContext(request.With(r.Context(), info)))
	if info.TokenReview != nil {
		t.Error("it does")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_ = tracer.Run(ended) // it has no spans to send
}
