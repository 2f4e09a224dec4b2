package signals

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"sluice/test/harness"
)

// receiver keeps the spans that are sent to it.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	raw   bytes.Buffer
	spans []*tracev1.Span
}

func startReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(req.Body)
	}
	text, err := io.ReadAll(body)
	var sent tracev1.TracesData
	if err = errors.Join(err, proto.Unmarshal(text, &sent)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw.Write(text)
	for _, of := range sent.ResourceSpans {
		for _, s := range of.ScopeSpans {
			r.spans = append(r.spans, s.Spans...)
		}
	}
}

// trace returns the spans of a trace.
func (r *receiver) trace(id string) (found []*tracev1.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if hex.EncodeToString(s.TraceId) == id {
			found = append(found, s)
		}
	}
	return found
}

// await waits until a span of a name, of a trace unless id is empty, has a child of another name.
func (r *receiver) await(t *testing.T, id, name, child string) (above *tracev1.Span) {
	t.Helper()
	harness.Eventually(t, child+" below "+name, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		named := map[string]*tracev1.Span{}
		for _, s := range r.spans {
			if s.Name == name && (id == "" || hex.EncodeToString(s.TraceId) == id) {
				named[string(s.SpanId)] = s
			}
		}
		for _, s := range r.spans {
			if above = named[string(s.ParentSpanId)]; above != nil && s.Name == child {
				return nil
			}
		}
		return fmt.Errorf("not among %v", r.spans)
	})
	return above
}

func attribute(s *tracev1.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// canary is in everything that clients make up.
const canary = "canary2719"

// parent is the span of a client, whose request is to be sampled.
type parent struct{ trace, span string }

func newParent(n int) parent { return parent{fmt.Sprintf("%031x%x", 0x51, n), fmt.Sprintf("%016x", n)} }

func (p parent) send(t *testing.T, s *harness.Sluice, user, path string) {
	t.Helper()
	header := http.Header{
		"Traceparent": {"00-" + p.trace + "-" + p.span + "-01"}, "User-Agent": {canary}, "X-Canary": {canary}, "Audit-Id": {canary},
	}
	resp, err := s.Raw(user).Open(t.Context(), harness.Request{Path: path, Header: header})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func traced(endpoint string, perMillion int) string {
	return fmt.Sprintf("{apiVersion: sluice/v1alpha1, kind: Configuration, tracing: {endpoint: %s/v1/traces, samplingRatePerMillion: %d}}", endpoint, perMillion)
}

func TestSpansSayHowARequestWasAnswered(t *testing.T) {
	r := startReceiver(t)
	far := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Config: traced(r.URL, 0)})
	s := apiserver.StartSluice(t, harness.SluiceOptions{
		Binary: "sluice", Config: traced(r.URL, 0), Upstream: far.RESTConfig("sluice"),
	})
	s.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")

	list, watch, passed, stranger := newParent(1), newParent(2), newParent(3), newParent(4)
	const path = "/api/v1/namespaces/" + canary + "/configmaps"
	stranger.send(t, s, "nobody", path+"?resourceVersion=0") // first, so that its spans would be there with the others
	list.send(t, s, "admin", path+"?resourceVersion=0&labelSelector="+canary)
	watch.send(t, s, "admin", path+"?watch=1&fieldSelector=metadata.name="+canary)
	passed.send(t, s, "admin", "/api/v1/namespaces/"+canary)

	const route = "GET /api/v1/configmaps"
	served := r.await(t, list.trace, route, "prove")
	if got := hex.EncodeToString(served.ParentSpanId); got != list.span || served.Kind != tracev1.Span_SPAN_KIND_SERVER {
		t.Errorf("the parent of %v is not the caller's span", served)
	}
	if attribute(served, "sluice.source") != "cache" || attribute(served, "sluice.reason") != "any-version" {
		t.Errorf("attributes %v", served.Attributes)
	}
	r.await(t, watch.trace, route, "prove")                         // the span of a watch ends with its headers
	r.await(t, passed.trace, "GET other", "upstream authenticated") // since the apiserver answers 404
	r.mu.Lock()
	defer r.mu.Unlock()
	spans := 0
	for _, span := range r.spans {
		if span.Kind == tracev1.Span_SPAN_KIND_SERVER && hex.EncodeToString(span.TraceId) == passed.trace {
			spans++
		}
	}
	if spans != 2 {
		t.Errorf("%d gateways know the trace, want both: the upstream receives the span", spans)
	}
	if bytes.Contains(r.raw.Bytes(), []byte(canary)) {
		t.Error("spans show what clients have made up")
	}
	if slices.ContainsFunc(r.spans, func(s *tracev1.Span) bool { return hex.EncodeToString(s.TraceId) == stranger.trace }) {
		t.Error("a caller without rights has its request traced")
	}
}

// A client that may not have its requests traced takes part in no trace but its own.
func TestTraceOfAnyCallerIsOnlyLinked(t *testing.T) {
	r := startReceiver(t)
	s := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Config: traced(r.URL, 1000000)})
	p := newParent(5)
	p.send(t, s, "nobody", "/api/v1/namespaces/default/configmaps/"+canary)
	harness.Eventually(t, "a span with a link", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, span := range r.spans {
			if len(span.Links) == 1 && hex.EncodeToString(span.Links[0].TraceId) == p.trace && len(span.ParentSpanId) == 0 {
				return nil
			}
		}
		return fmt.Errorf("spans %v", r.spans)
	})
	if found := r.trace(p.trace); len(found) > 0 {
		t.Errorf("the trace of the caller has %v", found)
	}
}

func TestSpansShowReviews(t *testing.T) {
	r := startReceiver(t)
	s := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Config: traced(r.URL, 1000000)})
	s.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	const route = "GET /api/v1/configmaps"
	for below, above := range map[string]string{"token review": route, "access review": route, "upstream self": "access review"} {
		r.await(t, "", above, below)
	}
}
