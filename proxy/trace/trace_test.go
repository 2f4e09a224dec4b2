package trace

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/protobuf/proto"
)

func TestSpansAreSentWithTheHeadersOfTheEnvironment(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Api-Key=a%20b, x=y=z,")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "cluster=c")
	var names []string
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var got tracev1.TracesData
		if err := proto.Unmarshal(body, &got); err != nil {
			t.Error(err)
		}
		for _, a := range got.ResourceSpans[0].Resource.Attributes {
			names = append(names, a.Key)
		}
		for _, s := range got.ResourceSpans[0].ScopeSpans[0].Spans {
			names = append(names, s.Name)
		}
		if r.Header.Get("Api-Key") != "a b" || r.Header.Get("X") != "y=z" || r.Header.Get("Content-Type") != "application/x-protobuf" || r.URL.Path != "/v1/traces" {
			t.Errorf("%s with %v", r.URL, r.Header)
		}
	}))
	defer collector.Close()
	tracer, err := New(collector.URL+"/v1/traces", 1e6, "v1", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := tracer.Begin(httptest.NewRequest("GET", "/", nil), nil, time.Now())
	Past(ctx, "past", time.Now(), time.Now())
	_, child := Start(Below(context.Background(), ctx), "child")
	child.End()
	span.End()
	end(tracer)
	for _, want := range []string{"GET", "past", "child", "cluster", "service.name"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %q in %v", want, names)
		}
	}
}

// end ends a tracer, which sends its last spans.
func end(t *Tracer) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = t.Run(ended)
}

// The headers are credentials.
func TestSpansFollowNoRedirect(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Api-Key=secret")
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	collector := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer collector.Close()
	core, logs := observer.New(zap.WarnLevel)
	tracer, err := New(collector.URL, 1e6, "v1", zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	_, span := tracer.Begin(httptest.NewRequest("GET", "/", nil), nil, time.Now())
	span.End()
	end(tracer)
	if elsewhere.Load() > 0 || logs.FilterMessage("traces are not sent").Len() == 0 {
		t.Errorf("%d requests elsewhere; logs %v", elsewhere.Load(), logs.All())
	}
}

func TestHeadersOfTheEnvironmentAreAList(t *testing.T) {
	for _, text := range []string{"a", "a=%zz"} {
		t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", text)
		if _, err := New("http://127.0.0.1:1/v1/traces", 0, "v1", zap.NewNop()); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}

func TestNothingIsAllocatedWithoutASampledRequest(t *testing.T) {
	var off *Tracer
	r := httptest.NewRequest("GET", "/", nil)
	allocated := testing.AllocsPerRun(100, func() {
		ctx, span := off.Begin(r, nil, time.Time{})
		ctx, child := Start(ctx, "child")
		child.Set("key", "value")
		child.End()
		Past(ctx, "past", time.Time{}, time.Time{})
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
