package transcode_test

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	fxcbor "github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"

	"sluice/codec"
	"sluice/codec/json"
	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// event returns one line of a watch stream.
func event(typ, object string) string {
	return `{"type":"` + typ + `","object":` + object + "}\n"
}

const (
	initialEventsEnd = `{"apiVersion":"lab.example.com/v1","kind":"Thing","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"9"}}`
	expiredStatus    = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}`
)

// respondSteps responds with a watch that sends a text for each step. It ends with the steps, or is
// cut at the step "cut".
func respondSteps(next <-chan string) func(http.ResponseWriter, *http.Request, []byte) {
	return func(w http.ResponseWriter, r *http.Request, _ []byte) {
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case text, ok := <-next:
				switch {
				case !ok:
					return
				case text == "cut":
					forwardtest.Abort(w)
				}
				_, _ = io.WriteString(w, text)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}

// TestWatchEventIsTranscodedAtOnce: each event arrives before the upstream sends the next, and the
// stream ends when that of the upstream ends.
func TestWatchEventIsTranscodedAtOnce(t *testing.T) {
	meta := func(object string) string {
		p, err := json.PartialObjectMetadata([]byte(object), "meta.k8s.io/v1")
		if err != nil {
			t.Fatal(err)
		}
		out, _ := stdjson.Marshal(p)
		return string(out)
	}
	table := func(rv, columns, cells, object string) string {
		return `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"` + rv + `"},"columnDefinitions":` + columns +
			`,"rows":[{"cells":` + cells + `,"object":` + object + `}]}`
	}
	const noCells = `["","0001-01-01T00:00:00Z"]`
	objects := []struct{ typ, object string }{{"ADDED", thing}, {"MODIFIED", thing2}, {"BOOKMARK", initialEventsEnd}, {"ERROR", expiredStatus}}
	for _, tt := range []struct {
		accept, query, contentType string
		want                       []string
	}{
		{"application/cbor", "", "application/cbor-seq", []string{thing, thing2, initialEventsEnd, expiredStatus}},
		{"application/cbor" + asMetadata, "", "application/cbor-seq", []string{meta(thing), meta(thing2), meta(initialEventsEnd), expiredStatus}},
		{"application/json" + asMetadata, "", "application/json", []string{meta(thing), meta(thing2), meta(initialEventsEnd), expiredStatus}},
		{"application/json" + asTable, "", "application/json", []string{
			table("7", "[]", `["a","2026-01-02T03:04:05Z"]`, meta(thing)), table("8", "null", `["b","2026-01-02T03:04:06Z"]`, meta(thing2)),
			table("9", "null", noCells, meta(initialEventsEnd)), expiredStatus}},
		{"application/json" + asTable, "&includeObject=None", "application/json", []string{
			table("7", "[]", `["a","2026-01-02T03:04:05Z"]`, "null"), table("8", "null", `["b","2026-01-02T03:04:06Z"]`, "null"),
			table("9", "null", noCells, meta(initialEventsEnd)), expiredStatus}},
	} {
		t.Run(tt.accept+tt.query, func(t *testing.T) {
			next := make(chan string)
			server := &jsonServer{}
			forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: server.ServeHTTP}, func(t *testing.T, e *forwardtest.Env) {
				next = make(chan string)
				server.respond = respondSteps(next)
				resp := e.Get(t, thingsPath+"?watch=true"+tt.query, acceptHeader(tt.accept)) // returns before the first event
				if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != tt.contentType || resp.Header.Get("Content-Length") != "" {
					t.Fatalf("%s with %v", resp.Status, resp.Header)
				}
				read := newEventDecoder(resp, tt.contentType)
				for i, o := range objects {
					next <- event(o.typ, o.object)
					got, err := read()
					if err != nil {
						t.Fatal(err)
					}
					if i == 0 && strings.Contains(tt.accept, "Table") {
						if !strings.Contains(got, `"columnDefinitions":[{"`) {
							t.Errorf("no columns in %s", got)
						}
						got = strings.Replace(withoutColumns(got), `"kind":"Table"`, `"columnDefinitions":[],"kind":"Table"`, 1)
					}
					if diff := cmp.Diff(canonical(event(o.typ, tt.want[i])), got); diff != "" {
						t.Errorf("event %d (-want +got):\n%s", i, diff)
					}
				}
				close(next)
				if got, err := read(); !errors.Is(err, io.EOF) {
					t.Errorf("after the last event: %q, %v", got, err)
				}
				e.End(t)
			})
		})
	}
}

// newEventDecoder returns a function that reads the next event of a watch as canonical JSON.
func newEventDecoder(resp *http.Response, contentType string) func() (string, error) {
	if contentType == "application/cbor-seq" {
		d := fxcbor.NewDecoder(resp.Body)
		return func() (string, error) {
			var item fxcbor.RawMessage
			if err := d.Decode(&item); err != nil {
				return "", err
			}
			return decode(string(item), codec.MediaCBOR), nil
		}
	}
	d := stdjson.NewDecoder(resp.Body)
	return func() (string, error) {
		var event stdjson.RawMessage
		if err := d.Decode(&event); err != nil {
			return "", err
		}
		return canonical(string(event)), nil
	}
}

// TestWatchInTheTargetPassesUnchanged: that the upstream supports Tables shows only in its events.
func TestWatchInTheTargetPassesUnchanged(t *testing.T) {
	stream := event("ADDED", `{"kind":"Table", "apiVersion":"meta.k8s.io/v1","rows":[ 1 ]}`) +
		event("ADDED", `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`) +
		event("ERROR", expiredStatus)
	e := newEnv(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, stream)
	})
	resp := e.Get(t, thingsPath+"?watch=1", acceptHeader("application/json"+asTable))
	if got := forwardtest.ReadAll(t, resp.Body); got != stream {
		t.Errorf("got %s", got)
	}
	if info := e.End(t); info.Outcome.Transcoded {
		t.Error("counted as transcoded")
	}
}

func TestCutWatchIsCutForTheClient(t *testing.T) {
	for name, last := range map[string][]string{
		"between events": {"cut"}, "inside an event": {event("ADDED", thing)[:50], "cut"},
		"end inside an event": {event("ADDED", thing)[:50]}, "no JSON": {"what\n"}, "no event": {"{\"type\":}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			server := &jsonServer{}
			forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: server.ServeHTTP}, func(t *testing.T, e *forwardtest.Env) {
				next := make(chan string)
				server.respond = respondSteps(next)
				resp := e.Get(t, thingsPath+"?watch=1", acceptHeader("application/cbor"))
				read := newEventDecoder(resp, "application/cbor-seq")
				next <- event("ADDED", thing)
				if _, err := read(); err != nil {
					t.Fatal(err)
				}
				for _, text := range last {
					next <- text
				}
				close(next)
				if got, err := read(); err == nil || errors.Is(err, io.EOF) {
					t.Errorf("after the cut: %q, %v", got, err)
				}
				e.End(t)
			})
		})
	}
}

func TestClientThatLeavesEndsTheUpstreamWatch(t *testing.T) {
	ended := make(chan bool, 1)
	server := &jsonServer{respond: func(w http.ResponseWriter, r *http.Request, _ []byte) {
		_, _ = io.WriteString(w, event("ADDED", thing))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		ended <- true
	}}
	forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: server.ServeHTTP}, func(t *testing.T, e *forwardtest.Env) {
		req := e.NewRequest(t, "GET", thingsPath+"?watch=1", acceptHeader("application/cbor"), nil)
		ctx, leave := context.WithCancel(req.Context())
		resp := e.Do(t, req.WithContext(ctx))
		if _, err := newEventDecoder(resp, "application/cbor-seq")(); err != nil {
			t.Fatal(err)
		}
		leave()
		forwardtest.Receive(t, ended, "end at the upstream")
		e.End(t)
		expectNothingTaken(t, e)
	})
}
