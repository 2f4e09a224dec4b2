package consistency

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/consistency/history"
	"sluice/test/consistency/wire"
)

const (
	// wrongGatewayLag is the lag of the watches of Sluice behind a wrong gateway.
	wrongGatewayLag = 500 * time.Millisecond
	// wrongGatewayReads is the number of answered reads of a round, after which the history is judged.
	wrongGatewayReads = 100
	// wrongGatewayRounds is the number of rounds after which a mistake must have shown: one round
	// may miss it, because the reads and the writes that they overtake are random.
	wrongGatewayRounds = 8
)

// Each gateway makes a mistake that has been made before.
func TestJudgeFindsGatewaysThatAnswerTooEarly(t *testing.T) {
	gets, wholes, pages := []string{"get", "get, several"}, []string{"whole", "namespace"}, []string{"paged", "paged, selected", "paged, exact"}
	stale, otherState := []history.Kind{history.Stale}, []history.Kind{history.Missing, history.Extra, history.Content}
	for _, tc := range []struct {
		name    string
		mistake mistake
		reads   []string       // kinds of reads that the mistake spoils; nil if all or watches
		want    []history.Kind // any of these
	}{
		{"any", only(consistent, anyVersion), nil, stale},
		{"gets", only(consistentGet, anyVersion), gets, stale},
		{"proofs", only(consistentGet, proveBefore()), gets, stale},
		{"lists", only(wholeList, stampLists), wholes, otherState},
		{"bookmarks", only(plainWatch, stampBookmarks), nil, []history.Kind{history.FalseBookmark}},
		{"rollcalls", only(wholeList, countRollCalls), wholes, otherState},
		{"pages", only(laterPage, pageNewest), pages, otherState},
		{"history", raiseHistory, nil, append(otherState, history.Gap)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clients := wrongGatewayLoad
			clients.reads = tc.reads
			for round := range uint64(wrongGatewayRounds) {
				name := fmt.Sprintf("%s-%d", tc.name, round)
				wl := scenario{name: name, seed: *seed + round, loads: []load{clients}, front: before(tc.mistake), during: lagUntilRead}.run(t)[0]
				found := wl.violations
				if i := slices.IndexFunc(found, func(v history.Violation) bool { return slices.Contains(tc.want, v.Kind) }); i >= 0 {
					t.Logf("%d violations in %d reads, such as %s", len(found), wl.recorder.answers(), found[i])
					return
				}
				t.Logf("none of %q among %d violations of %d reads", tc.want, len(found), wl.recorder.answers())
			}
			t.Error("the mistake has not shown")
		})
	}
}

var wrongGatewayLoad = load{
	resource: configMaps, writers: 2, objects: 8, writing: 30 * time.Millisecond,
	readers: 3, reading: 30 * time.Millisecond, page: 6, watchers: 6,
}

// lagUntilRead delays watches until enough reads are answered.
func lagUntilRead(t *testing.T, e *execution) {
	e.gateway.lag.Set(wrongGatewayLag, wrongGatewayLag)
	defer e.gateway.lag.Set(0, 0)
	e.awaitReads(t, wrongGatewayReads)
}

// mistake handles a request before Sluice does.
type mistake func(w http.ResponseWriter, r *http.Request, next http.Handler)

// before returns a function that starts a server with a mistake in front of Sluice.
func before(m mistake) func(*testing.T, *gateway) *rest.Config {
	return func(t *testing.T, g *gateway) *rest.Config {
		_, config := wire.Front(t, g.RESTConfig("admin"), func(proxy *httputil.ReverseProxy) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m(w, r, proxy) })
		})
		return config
	}
}

// only makes a mistake in some requests.
func only(wrong func(*http.Request) bool, m mistake) mistake {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if wrong(r) {
			m(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// consistent reports whether a request is a consistent read.
func consistent(r *http.Request) bool {
	q := r.URL.Query()
	return r.Method == http.MethodGet && q.Get("resourceVersion") == "" && q.Get("continue") == ""
}

// consistentGet reports whether a request is a consistent read of an object in a namespace.
func consistentGet(r *http.Request) bool {
	_, in, _ := strings.Cut(r.URL.Path, "/namespaces/")
	return consistent(r) && strings.Count(in, "/") == 2
}

// wholeList reports whether a request is a consistent list without a limit.
func wholeList(r *http.Request) bool {
	q := r.URL.Query()
	return consistent(r) && !q.Has("watch") && !q.Has("limit")
}

// laterPage reports whether a request is for a page after the first.
func laterPage(r *http.Request) bool { return r.URL.Query().Has("continue") }

// plainWatch reports whether a request is a watch without initial events or field selector.
func plainWatch(r *http.Request) bool {
	q := r.URL.Query()
	return q.Has("watch") && !q.Has("sendInitialEvents") && !q.Has("fieldSelector")
}

// anyVersion serves a read from the cache, whatever its version.
func anyVersion(w http.ResponseWriter, r *http.Request, next http.Handler) {
	setQuery(r, "resourceVersion", "0")
	next.ServeHTTP(w, r)
}

// setQuery sets parameters of a request.
func setQuery(r *http.Request, parameters ...string) {
	q := r.URL.Query()
	for i := 0; i < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	r.URL.RawQuery = q.Encode()
}

// oldProof is how long proveBefore believes a proof, long enough for the cache to reach its version.
const oldProof = 3 * wrongGatewayLag

// proveBefore answers a get of the most recent state by a proof from before the get: the version of
// a list, for some time after it.
func proveBefore() mistake {
	var mu sync.Mutex // guards the variables below
	var version string
	var at time.Time
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		if time.Since(at) > oldProof {
			list := r.Clone(r.Context())
			list.URL.Path = path.Dir(r.URL.Path)
			if newer := probe(next, list); newer != "" {
				version, at = newer, time.Now()
			}
		}
		proven := version
		mu.Unlock()
		setQuery(r, "resourceVersion", proven)
		next.ServeHTTP(w, r)
	}
}

// stampLists takes the current version from a small list, and assumes that its cache has reached
// it.
func stampLists(w http.ResponseWriter, r *http.Request, next http.Handler) {
	version := probe(next, r)
	writeStamped(w, recordList(next, r, "resourceVersion", "0"), version)
}

// recordList returns the response to the list r with other values of some parameters.
func recordList(next http.Handler, r *http.Request, parameters ...string) *httptest.ResponseRecorder {
	r = r.Clone(r.Context())
	setQuery(r, parameters...)
	r.Header.Del("Accept-Encoding")
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	return answer
}

// writeStamped writes a list with another version, unless that is empty.
func writeStamped(w http.ResponseWriter, answer *httptest.ResponseRecorder, version string) {
	var l map[string]json.RawMessage
	var meta map[string]any
	body := answer.Body.Bytes()
	if json.Unmarshal(body, &l) == nil && json.Unmarshal(l["metadata"], &meta) == nil && version != "" {
		meta["resourceVersion"] = version
		l["metadata"], _ = json.Marshal(meta) // it was decoded from JSON
		body, _ = json.Marshal(l)
	}
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body)
}

// countRollCalls takes a list of the current state for a proof of the cached one if both have the same
// number of objects.
func countRollCalls(w http.ResponseWriter, r *http.Request, next http.Handler) {
	state := recordList(next, r, "resourceVersion", "0")
	roll := recordList(next, r)
	have, _, err := decodeList(state.Body.Bytes())
	called, _, err2 := decodeList(roll.Body.Bytes())
	if err != nil || err2 != nil || len(have.Items) != len(called.Items) {
		writeStamped(w, roll, "")
		return
	}
	writeStamped(w, state, fmt.Sprint(called.Version))
}

// raiseHistory takes the event that follows a list for a part of it, and the event that follows the
// version of a watch for delivered.
func raiseHistory(w http.ResponseWriter, r *http.Request, next http.Handler) {
	q := r.URL.Query()
	if version, err := strconv.ParseUint(q.Get("resourceVersion"), 10, 64); err == nil && version > 0 && q.Has("watch") {
		setQuery(r, "resourceVersion", fmt.Sprint(version+1))
	}
	only(wholeList, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer, version := recordList(next, r), ""
		if page, _, err := decodeList(answer.Body.Bytes()); err == nil {
			version = fmt.Sprint(page.Version + 1)
		}
		writeStamped(w, answer, version)
	})(w, r, next)
}

// pageNewest serves a page from another state than that of its version: the newest of the cache.
func pageNewest(w http.ResponseWriter, r *http.Request, next http.Handler) {
	newest := probe(next, r, "resourceVersion", "0")
	if newest == "" {
		next.ServeHTTP(w, r)
		return
	}
	token, version := moveToken(r.URL.Query().Get("continue"), newest)
	answer := recordList(next, r, "continue", token)
	if _, token, err := decodeList(answer.Body.Bytes()); err == nil && token != "" {
		moved, _ := moveToken(token, version) // the next page is another of the same list
		answer.Body = bytes.NewBuffer(bytes.Replace(answer.Body.Bytes(), []byte(token), []byte(moved), 1))
	}
	writeStamped(w, answer, version)
}

// moveToken returns a continue token with another version, and the version that it had.
func moveToken(token, version string) (moved, was string) {
	var t struct {
		Version  string      `json:"v"`
		Revision json.Number `json:"rv"`
		Start    string      `json:"start"`
	}
	text, _ := base64.RawURLEncoding.DecodeString(token)
	if json.Unmarshal(text, &t) != nil {
		return token, version
	}
	was, t.Revision = t.Revision.String(), json.Number(version)
	text, _ = json.Marshal(t) // it was decoded from JSON
	return base64.RawURLEncoding.EncodeToString(text), was
}

// probe returns the current version of the resource that r reads, or that of the state by other parameters, or "" if there is
// no answer.
func probe(next http.Handler, r *http.Request, parameters ...string) string {
	small := r.Clone(r.Context())
	small.URL.RawQuery = url.Values{"limit": {"1"}, "fieldSelector": {"metadata.name=none"}}.Encode()
	defer func() { _ = recover() }() // the client has disconnected
	page, _, err := decodeList(recordList(next, small, parameters...).Body.Bytes())
	if err != nil {
		return ""
	}
	return fmt.Sprint(page.Version)
}

// stampBookmarks sends watchers a bookmark with the version of a list after events, and assumes that the watch has
// delivered all events up to it.
func stampBookmarks(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(bookmarkInserter{w, func() string { return probe(next, r) }}, r)
}

// bookmarkInserter inserts bookmarks between the frames of a watch.
type bookmarkInserter struct {
	http.ResponseWriter
	version func() string
}

// Unwrap makes Flush of the ResponseWriter known.
func (b bookmarkInserter) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// Write implements http.ResponseWriter.
func (b bookmarkInserter) Write(p []byte) (int, error) {
	n, err := b.ResponseWriter.Write(p)
	if version := b.version(); version != "" && bytes.HasSuffix(p, []byte("\n")) {
		fmt.Fprintf(b.ResponseWriter, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":%q}}}`+"\n", version)
	}
	return n, err
}
