package conformance

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apicbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor"

	"sluice/test/harness"
)

const mediaCBOR, mediaJSON = "application/cbor", "application/json"

// call is a request. {ns} stands for a namespace, which is another one for each server.
type call struct {
	name, method, path, contentType, body string
	user                                  string // default: admin
	status                                int
	json                                  bool // the response is JSON, as the apiserver writes 403
}

// noCBOR is an apiserver without CBOR, and a Sluice in front of it.
type noCBOR struct {
	apiserver *harness.ControlPlane
	sluice    *harness.Sluice
}

// testRequests asks for the same responses to writes in CBOR through Sluice and in JSON of the apiserver: they have the
// same content.
func (n *noCBOR) testRequests(t *testing.T) {
	const (
		secrets = "/api/v1/namespaces/{ns}/secrets"
		maps    = "/api/v1/namespaces/{ns}/configmaps"
		rings   = "/apis/ex.io/v1/namespaces/{ns}/rings"
		apply   = "application/apply-patch+yaml"
		secret  = `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"data":{"k":"aGVsbG8=","l":""},"type":"Opaque"}`
		config  = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"},"data":{"a":"<b>"},"binaryData":{"b":"AP8="}}`
		unknown = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"u"},"dat":{"a":"b"}}`
		event   = `{"kind":"Event","apiVersion":"v1","metadata":{"name":"e"},"involvedObject":{"namespace":"{ns}"},"count":3,"firstTimestamp":"2026-01-02T03:04:05Z"}`
		gone    = `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`
	)
	calls := []call{
		{name: "create", method: "POST", path: secrets, contentType: mediaJSON, body: secret, status: 201},
		{name: "create again", method: "POST", path: secrets, contentType: mediaJSON, body: secret, status: 409},
		{name: "create event", method: "POST", path: "/api/v1/namespaces/{ns}/events", contentType: mediaJSON, body: event, status: 201},
		{name: "create another", method: "POST", path: maps, contentType: mediaJSON, body: config, status: 201},
		{name: "create a third", method: "POST", path: maps, contentType: mediaJSON, body: strings.Replace(config, `"c"`, `"d"`, 1), status: 201},
		{name: "dry run", method: "POST", path: maps + "?dryRun=All", contentType: mediaJSON, body: strings.Replace(config, `"c"`, `"dry"`, 1), status: 201},
		{name: "unknown field", method: "POST", path: maps + "?dryRun=All", contentType: mediaJSON, body: unknown, status: 201},
		{name: "unknown field, Warn", method: "POST", path: maps + "?dryRun=All&fieldValidation=Warn", contentType: mediaJSON, body: unknown, status: 201},
		{name: "unknown field, Ignore", method: "POST", path: maps + "?dryRun=All&fieldValidation=Ignore", contentType: mediaJSON, body: unknown, status: 201},
		{name: "unknown field, Strict", method: "POST", path: maps + "?dryRun=All&fieldValidation=Strict", contentType: mediaJSON, body: unknown, status: 400},
		{name: "unknown validation", method: "POST", path: maps + "?fieldValidation=Never", contentType: mediaJSON, body: config, status: 422},
		{name: "update", method: "PUT", path: secrets + "/s", contentType: mediaJSON, body: strings.Replace(secret, "aGVsbG8=", "d29ybGQ=", 1), status: 200},
		{name: "conflict", method: "PUT", path: secrets + "/s", contentType: mediaJSON, body: strings.Replace(secret, `"name"`, `"resourceVersion":"1","name"`, 1), status: 409},
		{name: "invalid", method: "PUT", path: secrets + "/s", contentType: mediaJSON, body: strings.Replace(secret, "Opaque", "other", 1), status: 422},
		{name: "merge patch", method: "PATCH", path: secrets + "/s", contentType: "application/merge-patch+json", body: `{"metadata":{"labels":{"a":"b"}}}`, status: 200},
		{name: "JSON patch", method: "PATCH", path: secrets + "/s", contentType: "application/json-patch+json", body: `[{"op":"add","path":"/metadata/labels/c","value":"d"}]`, status: 200},
		{name: "strategic patch", method: "PATCH", path: secrets + "/s", contentType: "application/strategic-merge-patch+json", body: `{"metadata":{"labels":{"e":"f"}}}`, status: 200},
		{name: "apply", method: "PATCH", path: maps + "/applied?fieldManager=me", contentType: apply, body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"applied"},"data":{"a":"b"}}`, status: 201},
		{name: "apply again", method: "PATCH", path: maps + "/applied?fieldManager=me", contentType: apply, body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"applied"},"data":{"a":"c"}}`, status: 200},
		{name: "apply conflict", method: "PATCH", path: maps + "/applied?fieldManager=other", contentType: apply, body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"applied"},"data":{"a":"d"}}`, status: 409},
		{name: "custom", method: "POST", path: rings, contentType: mediaJSON, body: `{"kind":"Ring","apiVersion":"ex.io/v1","metadata":{"name":"f"},"spec":{"size":1}}`, status: 201},
		{name: "get not found", path: secrets + "/nope", status: 404},
		{name: "malformed resource version", path: secrets + "/s?resourceVersion=x", status: 500},
		{name: "forbidden", path: secrets, user: "nobody", status: 403, json: true},
		{name: "forbidden write", method: "POST", path: secrets, user: "reader", contentType: mediaJSON, body: secret, status: 403, json: true},
		{name: "anonymous", path: secrets, user: harness.Anonymous, status: 403, json: true},
		{name: "access review", method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", contentType: mediaJSON,
			body: `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"nonResourceAttributes":{"path":"/x","verb":"get"}}}`, status: 201},
		{name: "delete, dry run", method: "DELETE", path: maps + "/c", contentType: mediaJSON, body: strings.Replace(gone, `"propagation`, `"dryRun":["All"],"propagation`, 1), status: 200},
		{name: "delete", method: "DELETE", path: maps + "/c", contentType: mediaJSON, body: gone, status: 200},
		{name: "delete with precondition", method: "DELETE", path: maps + "/d", contentType: mediaJSON, body: strings.Replace(gone, `"propagation`, `"preconditions":{"resourceVersion":"1"},"propagation`, 1), status: 409},
		{name: "delete all", method: "DELETE", path: secrets, contentType: mediaJSON, body: gone, status: 200},
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
		want, err := c.send(t, n.apiserver, direct, mediaJSON)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.send(t, n.sluice, passed, mediaCBOR)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(c.name, func(t *testing.T) { c.check(t, want, got, strings.NewReplacer(passed, direct)) })
	}
}

// testBodies sends bodies in CBOR: their refusal is the apiserver's, whatever is in them.
func (n *noCBOR) testBodies(t *testing.T) {
	ns := n.apiserver.Namespace(t)
	const head = "\xd9\xd9\xf7\xa4\x44kind\x49ConfigMap\x4aapiVersion\x42v1\x48metadata\xa1\x44name\x41b\x4abinaryData\xa1\x41b"
	for name, body := range map[string]string{
		"bytes": head + "\x42\x00\xff", "tag 21": head + "\xd5\x42\x00\xff", "tag 22": head + "\xd6\x42\x00\xff", "tag 23": head + "\xd7\x42\x00\xff",
		"malformed": "\xa1", "empty": "",
	} {
		for _, c := range []call{
			{method: "POST", path: "/api/v1/namespaces/" + ns + "/configmaps", contentType: mediaCBOR},
			{method: "PUT", path: "/api/v1/namespaces/" + ns + "/configmaps/b", contentType: mediaCBOR},
			{method: "PATCH", path: "/api/v1/namespaces/" + ns + "/configmaps/b?fieldManager=me", contentType: "application/apply-patch+cbor"},
			{method: "DELETE", path: "/api/v1/namespaces/" + ns + "/configmaps/b", contentType: mediaCBOR},
		} {
			for _, accept := range []string{mediaJSON, mediaCBOR + "," + mediaJSON + ";q=0.9", "*/*"} {
				c.user, c.body = "admin", body
				want, err := c.send(t, n.apiserver, ns, accept)
				if err != nil {
					t.Fatal(err)
				}
				got, err := c.send(t, n.sluice, ns, accept)
				if err != nil {
					t.Fatal(err)
				}
				if got.Status != want.Status || string(got.Body) != string(want.Body) || got.Header.Get("Content-Type") != want.Header.Get("Content-Type") {
					t.Errorf("%s of %s for %s: %d %s, want %d %s", c.method, name, accept, got.Status, got.Body, want.Status, want.Body)
				}
			}
		}
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

func (c call) send(t *testing.T, s server, ns, accept string) (*harness.Response, error) {
	h := http.Header{"User-Agent": {"transcoded"}, "Accept": {accept}}
	if c.contentType != "" {
		h.Set("Content-Type", c.contentType)
	}
	in := strings.NewReplacer("{ns}", ns)
	return s.Raw(c.user).Do(t.Context(), harness.Request{Method: c.method, Path: in.Replace(c.path), Header: h, Body: []byte(in.Replace(c.body))})
}

// check compares both responses except for namespaces, UIDs, resource versions and times.
func (c call) check(t *testing.T, want, got *harness.Response, names *strings.Replacer) {
	if want.Status != c.status || got.Status != c.status {
		t.Fatalf("apiserver %d, Sluice %d, want %d: %s %q", want.Status, got.Status, c.status, want.Body, got.Body)
	}
	contentType := mediaCBOR
	if c.json {
		contentType = mediaJSON
	}
	if got.Header.Get("Content-Type") != contentType {
		t.Errorf("Content-Type is %s", got.Header.Get("Content-Type"))
	}
	if c.user == "admin" && !strings.HasPrefix(got.Header.Get("Sluice-Source"), "cache") && !strings.HasSuffix(got.Header.Get("Sluice-Source"), "; transcoded") {
		t.Errorf("source is %s", got.Header.Get("Sluice-Source"))
	}
	if diff := gocmp.Diff(want.Header["Warning"], got.Header["Warning"]); diff != "" {
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
	if diff := gocmp.Diff(withoutOwn(w, names), withoutOwn(g, names)); diff != "" {
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
