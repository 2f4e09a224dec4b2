package transcode_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec"
	"sluice/codec/proto"
	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// acceptHeader returns the headers of a request with this Accept header.
func acceptHeader(accept string) http.Header { return http.Header{"Accept": {accept}} }

// TestJSONResponseIsTranscodedToTheTarget has a server that refuses all but JSON, and a server that
// responds in JSON though the client does not accept it.
func TestJSONResponseIsTranscodedToTheTarget(t *testing.T) {
	const metadata = `"metadata":{"name":%q,"namespace":"ns","resourceVersion":%q,"creationTimestamp":%q}`
	partA := fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",`+metadata+`}`, "a", "7", "2026-01-02T03:04:05Z")
	partB := fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",`+metadata+`}`, "b", "8", "2026-01-02T03:04:06Z")
	const listMeta = `"metadata":{"resourceVersion":"9","continue":"more","remainingItemCount":3}`
	cells := [2]string{`"cells":["a","2026-01-02T03:04:05Z"]`, `"cells":["b","2026-01-02T03:04:06Z"]`}
	rows := func(objects ...string) string {
		var all []string
		for i, o := range objects {
			all = append(all, `{`+cells[i]+`,"object":`+o+`}`)
		}
		return `"rows":[` + strings.Join(all, ",") + `]`
	}
	tests := []struct {
		name, query, accept, from, want, contentType string
	}{
		{"object in CBOR", "/a", "application/cbor", thing, thing, "application/cbor"},
		{"list in CBOR", "", "application/cbor", thingList, thingList, "application/cbor"},
		{"object in YAML", "/a", "application/yaml", thing, thing, "application/yaml"},
		{"list in YAML", "", "application/yaml;q=0.5,text/plain", thingList, thingList, "application/yaml"},
		{"preferred of two", "/a", "application/yaml;q=0.5,application/cbor", thing, thing, "application/cbor"},
		{"status", "/a", "application/cbor", `{"kind":"Status","apiVersion":"v1","status":"Success"}`, `{"kind":"Status","apiVersion":"v1","status":"Success"}`, "application/cbor"},
		{"metadata", "/a", "application/json" + asMetadata, thing, partA, "application/json"},
		{"metadata in CBOR", "/a", "application/cbor" + asMetadata, thing, partA, "application/cbor"},
		{"metadata list", "", "application/json" + asList, thingList,
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",` + listMeta + `,"items":[` + partA + `,` + partB + `]}`, "application/json"},
		{"list as metadata", "", "application/yaml" + asMetadata, thingList,
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",` + listMeta + `,"items":[` + partA + `,` + partB + `]}`, "application/yaml"},
		{"no items", "", "application/json" + asList, `{"kind":"ThingList","apiVersion":"lab.example.com/v1","metadata":{"resourceVersion":"9"},"items":null}`,
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":null}`, "application/json"},
		{"table of one", "/a", "application/json" + asTable, thing, `"metadata":{"resourceVersion":"7"},` + rows(partA), "application/json"},
		{"table", "", "application/json" + asTable, thingList, listMeta + `,` + rows(partA, partB), "application/json"},
		{"table in YAML", "", "application/yaml" + asTable, thingList, listMeta + `,` + rows(partA, partB), "application/yaml"},
		{"table without objects", "?includeObject=None", "application/json" + asTable, thingList, listMeta + `,` + rows("null", "null"), "application/json"},
		{"table with objects", "?includeObject=Object", "application/json" + asTable, thingList, listMeta + `,` + rows(thing, thing2), "application/json"},
		{"table with objects without kind", "?includeObject=Object", "application/json" + asTable,
			`{"kind":"ThingList","apiVersion":"lab.example.com/v1",` + listMeta + `,"items":[{"metadata":{"name":"a","creationTimestamp":"2026-01-02T03:04:05Z"}}]}`,
			listMeta + `,` + rows(`{"kind":"Thing","apiVersion":"lab.example.com/v1","metadata":{"name":"a","creationTimestamp":"2026-01-02T03:04:05Z"}}`), "application/json"},
	}
	for _, refuses := range []bool{true, false} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, refuses %v", tt.name, refuses), func(t *testing.T) {
				server := &jsonServer{respond: respondWith(tt.from)}
				handler := server.ServeHTTP
				if !refuses {
					handler = func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Content-Type", "application/json; charset=utf-8")
						_, _ = io.WriteString(w, tt.from)
					}
				}
				e := newEnv(t, handler)
				resp := e.Get(t, thingsPath+tt.query, acceptHeader(tt.accept))
				body := forwardtest.ReadAll(t, resp.Body)
				if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != tt.contentType ||
					resp.Header.Get("Content-Length") != fmt.Sprint(len(body)) {
					t.Fatalf("got %s with %v: %s", resp.Status, resp.Header, body)
				}
				got, want := decode(body, tt.contentType), tt.want
				if strings.Contains(tt.accept, "Table") {
					const columns = `"columnDefinitions":[{"name":"Name",`
					if !strings.Contains(body, "columnDefinitions") || tt.contentType == "application/json" && !strings.Contains(body, columns) {
						t.Errorf("no columns in %s", body)
					}
					got = withoutColumns(got)
					want = `{"kind":"Table","apiVersion":"meta.k8s.io/v1",` + want + `}`
				}
				if diff := cmp.Diff(canonical(want), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if info := e.End(t); !info.Outcome.Transcoded || info.Outcome.Format == "" {
					t.Errorf("outcome is %+v", info.Outcome)
				}
			})
		}
	}
}

// withoutColumns removes the column definitions from a Table in canonical JSON.
func withoutColumns(table string) string {
	head, rest, ok := strings.Cut(table, `"columnDefinitions":`)
	_, rest, found := strings.Cut(rest, `],`)
	if !ok || !found {
		return table
	}
	return head + rest
}

// TestMetadataIsTranscodedToProtobuf: metadata needs no schema of the resource.
func TestMetadataIsTranscodedToProtobuf(t *testing.T) {
	server := &jsonServer{respond: respondWith(thingList)}
	e := newEnv(t, server.ServeHTTP)
	resp := e.Get(t, thingsPath, acceptHeader("application/vnd.kubernetes.protobuf"+asList))
	u, err := proto.ParseEnvelope([]byte(forwardtest.ReadAll(t, resp.Body)))
	var got metav1.PartialObjectMetadataList
	if err == nil {
		err = got.Unmarshal(u.Raw)
	}
	if err != nil || string(u.Kind) != "PartialObjectMetadataList" || len(got.Items) != 2 || got.Items[1].Name != "b" || got.ResourceVersion != "9" {
		t.Errorf("%s %v: %v, %v", resp.Status, resp.Header, got, err)
	}
}

func TestTranscodedResponseKeepsHeaders(t *testing.T) {
	server := &jsonServer{respond: func(w http.ResponseWriter, r *http.Request, body []byte) {
		h := w.Header()
		h["Warning"] = []string{`299 - "one"`, `299 - "two"`}
		h.Set("Audit-Id", "the-one")
		h.Set("X-Kubernetes-Pf-Flowschema-Uid", "f")
		h.Set("Location", "/elsewhere")
		h.Set("Retry-After", "3")
		h.Set("Cache-Control", "no-cache, private")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(body)
	}}
	e := newEnv(t, server.ServeHTTP)
	resp := post(t, e, "application/json", "application/cbor", thing)
	want := http.Header{
		"Warning": {`299 - "one"`, `299 - "two"`}, "Audit-Id": {"the-one"}, "X-Kubernetes-Pf-Flowschema-Uid": {"f"},
		"Location": {"/elsewhere"}, "Retry-After": {"3"}, "Cache-Control": {"no-cache, private"},
		"Content-Type": {"application/cbor"}, "Content-Length": {fmt.Sprint(len(encode(thing, codec.CBOR)))},
	}
	resp.Header.Del("Date")
	if diff := cmp.Diff(want, resp.Header); diff != "" || resp.StatusCode != 202 {
		t.Errorf("%s (-want +got):\n%s", resp.Status, diff)
	}
}

// TestTranscodedResponseIsCompressedAsAccepted: long responses are compressed as the apiserver does
// it, whatever coding the upstream used.
func TestTranscodedResponseIsCompressedAsAccepted(t *testing.T) {
	var list strings.Builder
	list.WriteString(`{"kind":"ThingList","apiVersion":"lab.example.com/v1","metadata":{},"items":[`)
	for i := range 2000 {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"kind":"Thing","apiVersion":"lab.example.com/v1","metadata":{"name":"thing-%d","uid":"some-text-that-is-long"}}`, i)
	}
	list.WriteString("]}")
	decompress := map[string]func(io.Reader) (io.Reader, error){
		"":     func(r io.Reader) (io.Reader, error) { return r, nil },
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"zstd": func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
	}
	for accepts, want := range map[string]string{"": "", "gzip": "gzip", "gzip;q=1": "", "gzip, zstd": "zstd"} {
		for _, refuses := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, refuses %v", accepts, refuses), func(t *testing.T) {
				server := &jsonServer{respond: respondWith(list.String())}
				handler := server.ServeHTTP
				if !refuses {
					handler = func(w http.ResponseWriter, r *http.Request) {
						w.Header().Set("Content-Type", "application/json")
						if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
							w.Header().Set("Content-Encoding", "gzip")
							z := gzip.NewWriter(w)
							defer z.Close()
							_, _ = io.WriteString(z, list.String())
							return
						}
						_, _ = io.WriteString(w, list.String())
					}
				}
				e := newEnv(t, handler)
				h := acceptHeader("application/cbor")
				if accepts != "" {
					h.Set("Accept-Encoding", accepts)
				}
				resp := e.Get(t, thingsPath, h)
				if got := resp.Header.Get("Content-Encoding"); got != want || (resp.Header.Get("Vary") != "") != (want != "") {
					t.Fatalf("got %q, want %q: %v", got, want, resp.Header)
				}
				in, err := decompress[want](resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				if got := forwardtest.ReadAll(t, in); decode(got, "application/cbor") != canonical(list.String()) {
					t.Errorf("got %.200q", got)
				}
			})
		}
	}
}

func TestCutResponseIsCutForTheClient(t *testing.T) {
	for _, refuses := range []bool{true, false} {
		server := &jsonServer{respond: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			_, _ = io.WriteString(w, thingList[:100])
			forwardtest.Abort(w)
		}}
		handler := server.ServeHTTP
		if !refuses {
			handler = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				server.respond(w, r, nil)
			}
		}
		forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
			resp, err := e.Client.Do(e.NewRequest(t, "GET", thingsPath, acceptHeader("application/cbor"), nil))
			if err == nil {
				defer resp.Body.Close()
				_, err = io.ReadAll(resp.Body)
			}
			if err == nil {
				t.Errorf("refuses %v: %s was complete", refuses, resp.Status)
			}
			if info := e.End(t); info.Outcome.Reason != "response-cut" {
				t.Errorf("reason is %q", info.Outcome.Reason)
			}
		})
	}
}

func TestMalformedResponseIsAnInternalError(t *testing.T) {
	for _, body := range []string{"", "nonsense", `{"kind":"ThingList","items":[1,`, `{"kind":"ThingList","items":[1]}`, `[]`, `{"kind":7}`, "\x00"} {
		for _, accept := range []string{"application/cbor", "application/json" + asTable, "application/cbor" + asMetadata} {
			server := &jsonServer{respond: respondWith(body)}
			e := newEnv(t, server.ServeHTTP)
			resp := e.Get(t, thingsPath, acceptHeader(accept))
			got := forwardtest.ReadAll(t, resp.Body)
			if resp.StatusCode != 500 && resp.StatusCode != 200 || resp.StatusCode == 500 && !strings.Contains(decode(got, resp.Header.Get("Content-Type")), "cannot be transcoded") {
				t.Errorf("%q as %s: %s with %q", body, accept, resp.Status, got)
			}
		}
	}
}
