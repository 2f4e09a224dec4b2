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
	"k8s.io/client-go/rest"

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

// trace returns the spans of a trace, or with "" of all.
func (r *receiver) trace(id string) (found []*tracev1.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if id == "" || hex.EncodeToString(s.TraceId) == id {
			found = append(found, s)
		}
	}
	return found
}

// await waits until a span of a name, of a trace unless id is empty, has a child of another name.
func (r *receiver) await(t *testing.T, id, name, child string) (above *tracev1.Span) {
	t.Helper()
	harness.Eventually(t, child+" below "+name, func() error {
		spans := r.trace(id)
		for _, above = range spans {
			if above.Name == name && slices.ContainsFunc(spans, func(s *tracev1.Span) bool {
				return s.Name == child && bytes.Equal(s.ParentSpanId, above.SpanId)
			}) {
				return nil
			}
		}
		return fmt.Errorf("not among %v", spans)
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

func (p parent) send(t *testing.T, s *harness.Sluice, user, path string, want int) {
	t.Helper()
	header := http.Header{
		"Traceparent": {"00-" + p.trace + "-" + p.span + "-01"}, "User-Agent": {canary}, "X-Canary": {canary}, "Audit-Id": {canary},
	}
	s.Raw(user).MustOpen(t, harness.Request{Path: path, Header: header}, want).Body.Close()
}

// startTraced starts a Sluice that sends spans to the receiver.
func (r *receiver) startTraced(t *testing.T, perMillion int, upstream *rest.Config) *harness.Sluice {
	t.Helper()
	config := fmt.Sprintf("{apiVersion: sluice/v1alpha1, kind: Configuration, tracing: {endpoint: %s/v1/traces, samplingRatePerMillion: %d}}", r.URL, perMillion)
	s := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Config: config, Upstream: upstream})
	s.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	return s
}

func TestSpansSayHowARequestWasAnswered(t *testing.T) {
	r := startReceiver(t)
	s := r.startTraced(t, 0, r.startTraced(t, 0, nil).RESTConfig("sluice"))
	list, watch, passed, stranger := newParent(1), newParent(2), newParent(3), newParent(4)
	const path = "/api/v1/namespaces/" + canary + "/configmaps"
	stranger.send(t, s, "nobody", path+"?resourceVersion=0", http.StatusForbidden) // first, so that its spans would be there with the others
	list.send(t, s, "admin", path+"?resourceVersion=0&labelSelector="+canary, http.StatusOK)
	watch.send(t, s, "admin", path+"?watch=1&fieldSelector=metadata.name="+canary, http.StatusOK)
	passed.send(t, s, "admin", "/api/v1/namespaces/"+canary, http.StatusNotFound)

	const route = "GET /api/v1/configmaps"
	served := r.await(t, list.trace, route, "prove")
	if got := hex.EncodeToString(served.ParentSpanId); got != list.span || served.Kind != tracev1.Span_SPAN_KIND_SERVER {
		t.Errorf("the parent of %v is not the caller's span", served)
	}
	if attribute(served, "sluice.source") != "cache" || attribute(served, "sluice.reason") != "any-version" {
		t.Errorf("attributes %v", served.Attributes)
	}
	r.await(t, watch.trace, route, "prove") // the span of a watch ends with its headers
	r.await(t, passed.trace, "GET other", "upstream authenticated")
	gateways := slices.DeleteFunc(r.trace(passed.trace), func(s *tracev1.Span) bool { return s.Kind != tracev1.Span_SPAN_KIND_SERVER })
	if len(gateways) != 2 {
		t.Errorf("%d gateways know the trace, want both: the upstream receives the span", len(gateways))
	}
	if len(r.trace(stranger.trace)) > 0 {
		t.Error("a caller without rights has its request traced")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes.Contains(r.raw.Bytes(), []byte(canary)) {
		t.Error("spans show what clients have made up")
	}
}

// A client that may not have its requests traced takes part in no trace but its own.
func TestTraceOfAnyCallerIsOnlyLinked(t *testing.T) {
	r := startReceiver(t)
	s := r.startTraced(t, 1000000, nil)
	p := newParent(5)
	p.send(t, s, "nobody", "/api/v1/namespaces/default/configmaps/"+canary, http.StatusForbidden)
	harness.Eventually(t, "a span with a link", func() error {
		spans := r.trace("")
		for _, span := range spans {
			if len(span.Links) == 1 && hex.EncodeToString(span.Links[0].TraceId) == p.trace && len(span.ParentSpanId) == 0 {
				return nil
			}
		}
		return fmt.Errorf("spans %v", spans)
	})
	if found := r.trace(p.trace); len(found) > 0 {
		t.Errorf("the trace of the caller has %v", found)
	}
}

func TestSpansShowReviews(t *testing.T) {
	r := startReceiver(t)
	r.startTraced(t, 1000000, nil)
	const route = "GET /api/v1/configmaps"
	for below, above := range map[string]string{"token review": route, "access review": route, "upstream self": "access review"} {
		r.await(t, "", above, below)
	}
}
