package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apicbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"sluice/test/harness"
)

const mediaCBOR = "application/cbor"

// call is a request. {ns} stands for a namespace, which is another one for each server.
type call struct {
	name, method, path, contentType, body string
	user                                  string // default: admin
	accept                                string // default: CBOR
	status                                int
	json                                  bool // the response is JSON, as the apiserver writes 403
}

// noCBOR is an apiserver without CBOR, which is the default, and a Sluice in front of it.
type noCBOR struct {
	apiserver *harness.ControlPlane
	sluice    *harness.Sluice
}

// TestCBORIsTranscodedForAnApiserverWithoutIt in requests, watches and clients.
func TestCBORIsTranscodedForAnApiserverWithoutIt(t *testing.T) {
	n := &noCBOR{apiserver: harness.Start(t)}
	n.sluice = n.apiserver.StartSluice(t)
	if a, err := n.apiserver.Raw("admin").Get(t.Context(), "/api/v1/namespaces/default", mediaCBOR); err != nil || a.Status != http.StatusNotAcceptable {
		t.Fatalf("the apiserver supports CBOR: %v, %v", a, err)
	}
	t.Run("requests", n.testRequests)
	t.Run("watches", n.testWatches)
	t.Run("clients that prefer CBOR", n.testClients)
}

// testRequests sends the same requests in CBOR through Sluice and in JSON to the apiserver: the
// responses have the same content.
func (n *noCBOR) testRequests(t *testing.T) {
	const (
		secrets = "/api/v1/namespaces/{ns}/secrets"
		maps    = "/api/v1/namespaces/{ns}/configmaps"
		rings   = "/apis/ex.io/v1/namespaces/{ns}/rings"
		apply   = "application/apply-patch+cbor"
		secret  = `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"data":{"k":"aGVsbG8=","l":""},"type":"Opaque"}`
		config  = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"},"data":{"a":"<b>"},"binaryData":{"b":"AP8="}}`
		unknown = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"u"},"dat":{"a":"b"}}`
		event   = `{"kind":"Event","apiVersion":"v1","metadata":{"name":"e"},"involvedObject":{"namespace":"{ns}"},"count":3,"firstTimestamp":"2026-01-02T03:04:05Z"}`
		gone    = `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`
		partial = mediaCBOR + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	)
	calls := []call{
		{name: "create", method: "POST", path: secrets, contentType: mediaCBOR, body: secret, status: 201},
		{name: "create again", method: "POST", path: secrets, contentType: mediaCBOR, body: secret, status: 409},
		{name: "create event", method: "POST", path: "/api/v1/namespaces/{ns}/events", contentType: mediaCBOR, body: event, status: 201},
		{name: "create with JSON response", method: "POST", path: maps, contentType: mediaCBOR, body: config, accept: "application/json", status: 201},
		{name: "create in JSON", method: "POST", path: maps, contentType: "application/json", body: strings.Replace(config, `"c"`, `"d"`, 1), status: 201},
		{name: "dry run", method: "POST", path: maps + "?dryRun=All", contentType: mediaCBOR, body: strings.Replace(config, `"c"`, `"dry"`, 1), status: 201},
		{name: "get after dry run", path: maps + "/dry", status: 404},
		{name: "unknown field", method: "POST", path: maps + "?dryRun=All", contentType: mediaCBOR, body: unknown, status: 201},
		{name: "unknown field, Warn", method: "POST", path: maps + "?dryRun=All&fieldValidation=Warn", contentType: mediaCBOR, body: unknown, status: 201},
		{name: "unknown field, Ignore", method: "POST", path: maps + "?dryRun=All&fieldValidation=Ignore", contentType: mediaCBOR, body: unknown, status: 201},
		{name: "unknown field, Strict", method: "POST", path: maps + "?dryRun=All&fieldValidation=Strict", contentType: mediaCBOR, body: unknown, status: 400},
		{name: "unknown validation", method: "POST", path: maps + "?fieldValidation=Never", contentType: mediaCBOR, body: config, status: 422},
		{name: "update", method: "PUT", path: secrets + "/s", contentType: mediaCBOR, body: strings.Replace(secret, "aGVsbG8=", "d29ybGQ=", 1), status: 200},
		{name: "conflict", method: "PUT", path: secrets + "/s", contentType: mediaCBOR, body: strings.Replace(secret, `"name"`, `"resourceVersion":"1","name"`, 1), status: 409},
		{name: "invalid", method: "PUT", path: secrets + "/s", contentType: mediaCBOR, body: strings.Replace(secret, "Opaque", "other", 1), status: 422},
		{name: "merge patch", method: "PATCH", path: secrets + "/s", contentType: "application/merge-patch+json", body: `{"metadata":{"labels":{"a":"b"}}}`, status: 200},
		{name: "JSON patch", method: "PATCH", path: secrets + "/s", contentType: "application/json-patch+json", body: `[{"op":"add","path":"/metadata/labels/c","value":"d"}]`, status: 200},
		{name: "strategic patch", method: "PATCH", path: secrets + "/s", contentType: "application/strategic-merge-patch+json", body: `{"metadata":{"labels":{"e":"f"}}}`, status: 200},
		{name: "apply", method: "PATCH", path: maps + "/applied?fieldManager=me", contentType: apply, body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"applied"},"data":{"a":"b"}}`, status: 201},
		{name: "apply again", method: "PATCH", path: maps + "/applied?fieldManager=me", contentType: apply, body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"applied"},"data":{"a":"c"}}`, status: 200},
		{name: "apply conflict", method: "PATCH", path: maps + "/applied?fieldManager=other", contentType: apply, body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"applied"},"data":{"a":"d"}}`, status: 409},
		{name: "custom", method: "POST", path: rings, contentType: mediaCBOR, body: `{"kind":"Ring","apiVersion":"ex.io/v1","metadata":{"name":"f"},"spec":{"size":1}}`, status: 201},
		{name: "get", path: secrets + "/s", status: 200},
		{name: "get metadata", path: secrets + "/s", accept: partial, status: 200},
		{name: "get event", path: "/api/v1/namespaces/{ns}/events/e", status: 200},
		{name: "get custom", path: rings + "/f", status: 200},
		{name: "get not found", path: secrets + "/nope", status: 404},
		{name: "list", path: secrets, status: 200},
		{name: "list events", path: "/api/v1/namespaces/{ns}/events", status: 200},
		{name: "empty list", path: secrets + "?labelSelector=no", status: 200},
		{name: "list metadata", path: secrets, accept: partial, status: 200},
		{name: "malformed selector", path: secrets + "?labelSelector=(", status: 400},
		{name: "malformed resource version", path: secrets + "/s?resourceVersion=x", status: 500},
		{name: "page", path: secrets + "?limit=1", status: 200},
		{name: "forbidden", path: secrets, user: "nobody", status: 403, json: true},
		{name: "forbidden write", method: "POST", path: secrets, user: "reader", contentType: mediaCBOR, body: secret, status: 403, json: true},
		{name: "anonymous", path: secrets, user: harness.Anonymous, status: 403, json: true},
		{name: "scale not found", path: "/apis/apps/v1/namespaces/{ns}/deployments/x/scale", status: 404},
		{name: "access review", method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", contentType: mediaCBOR,
			body: `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"nonResourceAttributes":{"path":"/x","verb":"get"}}}`, status: 201},
		{name: "delete, dry run", method: "DELETE", path: maps + "/c", contentType: mediaCBOR, body: strings.Replace(gone, `"propagation`, `"dryRun":["All"],"propagation`, 1), status: 200},
		{name: "delete", method: "DELETE", path: maps + "/c", contentType: mediaCBOR, body: gone, status: 200},
		{name: "delete with precondition", method: "DELETE", path: maps + "/d", contentType: mediaCBOR, body: strings.Replace(gone, `"propagation`, `"preconditions":{"resourceVersion":"1"},"propagation`, 1), status: 409},
		{name: "delete all", method: "DELETE", path: secrets, contentType: mediaCBOR, body: gone, status: 200},
		{name: "list after delete all", path: secrets, status: 200},
	}
	direct, passed := n.apiserver.Namespace(t), n.apiserver.Namespace(t)
	n.createRingCRD(t)
	for _, c := range calls {
		if c.method == "" {
			c.method = "GET"
		}
		if c.user == "" && c.name != "anonymous" {
			c.user = "admin"
		}
		want, err := c.asJSON(t, n.apiserver, direct)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.asCBOR(t, n.sluice, passed)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(c.name, func(t *testing.T) { c.check(t, want, got, strings.NewReplacer(passed, direct)) })
	}
}

func (n *noCBOR) createRingCRD(t *testing.T) {
	t.Helper()
	const definitions, rings = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/ex.io/v1/rings"
	definition := Write{Path: definitions, Object: ringCRD("Namespaced", "RingList", `[]`, `[]`)}
	if err := definition.sendTo(t.Context(), n.apiserver); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "custom resource", func() error {
		var l list
		return fetch(t.Context(), n.apiserver, rings, &l)
	})
}

// asJSON sends the call in JSON to the apiserver.
func (c call) asJSON(t *testing.T, s server, ns string) (*harness.Response, error) {
	h := http.Header{"User-Agent": {"transcoded"}, "Accept": {strings.NewReplacer(mediaCBOR, "application/json").Replace(c.accept)}}
	if c.accept == "" {
		h.Set("Accept", "application/json")
	}
	if c.name == "list metadata" { // the apiserver refuses lists as PartialObjectMetadata
		h.Set("Accept", strings.Replace(h.Get("Accept"), "Metadata;", "MetadataList;", 1))
	}
	switch c.contentType {
	case mediaCBOR:
		h.Set("Content-Type", "application/json")
	case "application/apply-patch+cbor":
		h.Set("Content-Type", "application/apply-patch+yaml")
	default:
		h.Set("Content-Type", c.contentType)
	}
	in := strings.NewReplacer("{ns}", ns)
	return s.Raw(c.user).Do(t.Context(), harness.Request{Method: c.method, Path: in.Replace(c.path), Header: h, Body: []byte(in.Replace(c.body))})
}

// asCBOR sends the call in CBOR through Sluice.
func (c call) asCBOR(t *testing.T, s server, ns string) (*harness.Response, error) {
	h := http.Header{"User-Agent": {"transcoded"}, "Accept": {c.accept}}
	if c.accept == "" {
		h.Set("Accept", mediaCBOR)
	}
	in := strings.NewReplacer("{ns}", ns)
	body := []byte(in.Replace(c.body))
	if strings.HasSuffix(c.contentType, "cbor") {
		var object any
		if err := utiljson.Unmarshal(body, &object); err != nil { // keeps integers
			return nil, err
		}
		var err error
		if body, err = direct.Marshal(object); err != nil {
			return nil, err
		}
	}
	if c.contentType != "" {
		h.Set("Content-Type", c.contentType)
	}
	return s.Raw(c.user).Do(t.Context(), harness.Request{Method: c.method, Path: in.Replace(c.path), Header: h, Body: body})
}

// check compares both responses except for namespaces, UIDs, resource versions and times.
func (c call) check(t *testing.T, want, got *harness.Response, names *strings.Replacer) {
	if want.Status != c.status || got.Status != c.status {
		t.Fatalf("apiserver %d, Sluice %d, want %d: %s %q", want.Status, got.Status, c.status, want.Body, got.Body)
	}
	contentType := mediaCBOR
	if c.json || c.accept == "application/json" || c.accept != "" && c.status >= 400 {
		contentType = "application/json"
	}
	if got.Header.Get("Content-Type") != contentType {
		t.Errorf("Content-Type is %s", got.Header.Get("Content-Type"))
	}
	if c.user == "admin" && !strings.HasPrefix(got.Header.Get("Sluice-Source"), "cache") && !strings.HasSuffix(got.Header.Get("Sluice-Source"), "; transcoded") {
		t.Errorf("source is %s", got.Header.Get("Sluice-Source"))
	}
	if diff := cmp.Diff(want.Header["Warning"], got.Header["Warning"]); diff != "" {
		t.Errorf("warnings: apiserver (-) and Sluice (+):\n%s", diff)
	}
	if strings.Contains(c.name, "unknown field") && c.status == 201 && (len(got.Header["Warning"]) == 0) != strings.HasSuffix(c.name, "Ignore") {
		t.Errorf("warnings are %v", got.Header["Warning"])
	}
	if want.Header.Get("Location") != got.Header.Get("Location") {
		t.Errorf("location is %q", got.Header.Get("Location"))
	}
	w, g := any(nil), any(nil)
	if err := json.Unmarshal(want.Body, &w); err != nil {
		t.Fatal(err)
	}
	if contentType == mediaCBOR {
		g = decodeCBOR(t, got.Body)
	} else if err := json.Unmarshal(got.Body, &g); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(withoutOwn(w, names), withoutOwn(g, names)); diff != "" {
		t.Errorf("apiserver (-) and Sluice (+):\n%s", diff)
	}
}

// decodeCBOR decodes an object or list with apimachinery's serializer.
func decodeCBOR(t *testing.T, body []byte) map[string]any {
	t.Helper()
	if !bytes.HasPrefix(body, []byte("\xd9\xd9\xf7")) { // the self-described CBOR tag
		t.Errorf("body begins with %x", body[:min(len(body), 3)])
	}
	s := apicbor.NewSerializer(runtime.NewScheme(), runtime.NewScheme())
	object, _, err := s.Decode(body, nil, &unstructured.Unstructured{})
	if err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

// objectMarks are resource versions and counts in messages.
var objectMarks = regexp.MustCompile(`resource version \d+|\(\d+\)`)

// withoutOwn replaces what differs between two objects with the same content.
func withoutOwn(v any, names *strings.Replacer) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			switch name {
			case "uid", "resourceVersion", "creationTimestamp", "time", "continue":
				v[name] = "one"
			default:
				v[name] = withoutOwn(value, names)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutOwn(v[i], names)
		}
	case string:
		return objectMarks.ReplaceAllString(names.Replace(v), "one")
	}
	return v
}

// testWatches watches an uncached resource in CBOR through Sluice, and in JSON at the apiserver.
func (n *noCBOR) testWatches(t *testing.T) {
	ns := n.apiserver.Namespace(t)
	path := "/api/v1/namespaces/" + ns + "/events"
	write := func(method, at, body string) {
		t.Helper()
		if method == "POST" {
			method = ""
		}
		if err := (Write{Method: method, Path: at, Object: json.RawMessage(body)}).sendTo(t.Context(), n.apiserver); err != nil {
			t.Fatal(err)
		}
	}
	object := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"involvedObject":{"namespace":%q},"count":1}`, name, ns)
	}
	write("POST", path, object("a"))
	for _, as := range []string{"", ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"} {
		ctx, cancel := context.WithCancel(t.Context())
		open := func(s server, accept string) *http.Response {
			resp, err := s.Raw("admin").Open(ctx, harness.Request{Path: path + "?watch=true", Header: http.Header{"Accept": {accept}}})
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != 200 {
				t.Fatalf("%s: %s", accept, resp.Status)
			}
			return resp
		}
		want, got := open(n.apiserver, "application/json"+as), open(n.sluice, mediaCBOR+as)
		if ct := got.Header.Get("Content-Type"); ct != "application/cbor-seq" {
			t.Errorf("stream is %s", ct)
		}
		lines := newStream(want)
		items := cborItems.NewDecoder(got.Body)
		next := func() {
			t.Helper()
			line, _, err := lines.next()
			if err != nil {
				t.Fatal(err)
			}
			var item cbor.RawMessage
			if err := items.Decode(&item); err != nil {
				t.Fatal(err)
			}
			var w, g map[string]any
			if err := json.Unmarshal(line, &w); err != nil {
				t.Fatal(err)
			}
			if err := direct.Unmarshal(item, &g); err != nil {
				t.Fatalf("%q: %v", item, err)
			}
			text, err := json.Marshal(g)
			if err != nil {
				t.Fatal(err)
			}
			g = nil
			if err := json.Unmarshal(text, &g); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w, g); diff != "" {
				t.Errorf("apiserver (-) and Sluice (+):\n%s", diff)
			}
		}
		next()
		write("PATCH", path+"/a", `{"count":2}`)
		next()
		write("POST", path, object("b"))
		next()
		write("DELETE", path+"/b", "")
		next()
		cancel()
		want.Body.Close()
		got.Body.Close()
		write("PATCH", path+"/a", `{"count":1}`)
	}
}
