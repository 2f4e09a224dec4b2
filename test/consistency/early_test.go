package consistency

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/consistency/history"
	"sluice/test/consistency/wire"
	"sluice/test/harness"
)

const (
	// mistakenLag is how late a gateway's cache is while it makes its mistake.
	mistakenLag = 500 * time.Millisecond
	// mistakenReads is how many reads it has to be found out.
	mistakenReads = 120
)

// Gateways that answer too early are found out, in each of the ways in which
// it has been done.
func TestEarlyAnswersAreCaught(t *testing.T) {
	for _, tc := range []struct {
		name    string
		mistake func(next http.Handler) http.Handler
		want    []history.Kind // any of them
	}{
		{"any", anyForLatest, []history.Kind{history.Stale}},
		{"stamped", stampLists, []history.Kind{history.Missing, history.Extra, history.Content}},
		{"marked", stampBookmarks, []history.Kind{history.Lie}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			results := trial{name: tc.name, seed: *seed, loads: []load{mistakenLoad}, front: before(tc.mistake), during: lagBehind}.run(t)
			found := results[0].violations
			i := slices.IndexFunc(found, func(v history.Violation) bool { return slices.Contains(tc.want, v.Kind) })
			if i < 0 {
				t.Fatalf("none of %q among %d violations of %d reads", tc.want, len(found), results[0].recorder.answers())
			}
			t.Logf("%d violations in %d reads, such as %s", len(found), results[0].recorder.answers(), found[i])
		})
	}
}

var mistakenLoad = load{
	resource: configMaps, writers: 2, objects: 8, writing: 30 * time.Millisecond,
	readers: 3, reading: 30 * time.Millisecond, page: 6, watchers: 6,
}

// lagBehind lets a gateway's cache be late until enough was asked.
func lagBehind(t *testing.T, p *play) {
	p.gateway.lag.Set(mistakenLag, mistakenLag)
	defer p.gateway.lag.Set(0, 0)
	harness.Eventually(t, "reads are answered", func() error {
		if have := p.casts[0].recorder.answers(); have < mistakenReads {
			return fmt.Errorf("%d of %d", have, mistakenReads)
		}
		return nil
	})
}

// before puts a handler before Sluice.
func before(mistake func(http.Handler) http.Handler) func(*testing.T, *gateway) *rest.Config {
	return func(t *testing.T, g *gateway) *rest.Config {
		config := g.RESTConfig("admin")
		base, transport := upstream(t, config)
		s := wire.Serve(mistake(wire.Proxy(base, transport)))
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
		return at(s, config)
	}
}

// at is a configuration for a test server.
func at(s *httptest.Server, config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host = s.URL
	config.TLSClientConfig = rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})}
	return config
}

// asksForLatest reports whether a list or streaming list asks for the most
// recent state.
func asksForLatest(q url.Values) bool {
	return q.Get("resourceVersion") == "" && q.Get("continue") == ""
}

// anyForLatest takes whatever is in the cache for the most recent state: it
// asks for version 0 where the client asked for none.
func anyForLatest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); r.Method == http.MethodGet && asksForLatest(q) {
			q.Set("resourceVersion", "0")
			r.URL.RawQuery = q.Encode()
		}
		next.ServeHTTP(w, r)
	})
}

// stampLists learns the present version from a small list, and takes that for a
// proof that its cache has come so far.
func stampLists(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if !asksForLatest(q) || q.Has("watch") || q.Has("limit") {
			next.ServeHTTP(w, r)
			return
		}
		version := probe(next, r)
		q.Set("resourceVersion", "0")
		r.URL.RawQuery = q.Encode()
		r.Header.Del("Accept-Encoding")
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		var l map[string]json.RawMessage
		var meta map[string]any
		if json.Unmarshal(answer.Body.Bytes(), &l) == nil && json.Unmarshal(l["metadata"], &meta) == nil && version != "" {
			meta["resourceVersion"] = version
			l["metadata"], _ = json.Marshal(meta) // it was JSON before
			answer.Body = new(bytes.Buffer)
			_ = json.NewEncoder(answer.Body).Encode(l)
		}
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// probe asks for the most recent version of the collection that r reads, which
// is empty if there is no answer.
func probe(next http.Handler, r *http.Request) string {
	small := r.Clone(r.Context())
	small.URL.RawQuery = url.Values{"limit": {"1"}, "fieldSelector": {"metadata.name=none"}}.Encode()
	small.Header.Del("Accept-Encoding")
	answer := httptest.NewRecorder()
	defer func() { _ = recover() }() // the client has gone
	next.ServeHTTP(answer, small)
	page, _, err := decodeList(answer.Body.Bytes())
	if err != nil {
		return ""
	}
	return fmt.Sprint(page.Version)
}

// markEvery is how often stampBookmarks adds a bookmark.
const markEvery = 100 * time.Millisecond

// stampBookmarks tells watchers the version of a list, as if what a list tells
// were under way to them already.
func stampBookmarks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if !q.Has("watch") || q.Has("sendInitialEvents") || q.Has("fieldSelector") {
			next.ServeHTTP(w, r)
			return
		}
		m := &marker{ResponseWriter: w}
		ended := make(chan struct{})
		var marking sync.WaitGroup
		marking.Go(func() {
			tick := time.NewTicker(markEvery)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					m.mark(probe(next, r))
				case <-ended:
					return
				}
			}
		})
		defer marking.Wait()
		defer close(ended)
		next.ServeHTTP(m, r)
	})
}

// marker writes bookmarks between the lines of a watch.
type marker struct {
	http.ResponseWriter
	mu   sync.Mutex // guards all below, and writing
	last byte       // that was written; 0 for nothing
}

func (m *marker) Unwrap() http.ResponseWriter { return m.ResponseWriter }

func (m *marker) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(p) > 0 {
		m.last = p[len(p)-1]
	}
	return m.ResponseWriter.Write(p)
}

func (m *marker) Flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = http.NewResponseController(m.ResponseWriter).Flush()
}

func (m *marker) mark(version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != '\n' || version == "" {
		return
	}
	fmt.Fprintf(m.ResponseWriter, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":%q}}}`+"\n", version)
	_ = http.NewResponseController(m.ResponseWriter).Flush()
}
