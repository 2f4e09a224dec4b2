package conformance

import (
	"bytes"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apicbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/util/json"

	"sluice/test/harness"
)

const mediaCBOR, mediaJSON = "application/cbor", "application/json"

// noCBOR is an apiserver without CBOR, and a Sluice in front of it.
type noCBOR struct {
	apiserver *harness.ControlPlane
	sluice    *harness.Sluice
}

// testRequests asks for the same responses to writes in CBOR through Sluice and in JSON of the apiserver: they have the
// same content.
func (n *noCBOR) testRequests(t *testing.T) {
	var rows []Row
	if err := read("testdata/gate/requests.yaml", &rows); err != nil {
		t.Fatal(err)
	}
	direct, passed := n.apiserver.Namespace(t), n.apiserver.Namespace(t)
	n.apiserver.MustCreate(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", string(ringCRD("Namespaced", "RingList", `[]`, `[]`)))
	n.apiserver.Raw("admin").AwaitStatus(t, http.StatusOK, harness.Request{Path: "/apis/ex.io/v1/rings"})
	for _, r := range rows {
		if r.Body != "" && r.Header == nil {
			r.Header = map[string]Lines{"Content-Type": {mediaJSON}}
		}
		want := r.respond(t, n.apiserver, direct, mediaJSON)
		got := r.respond(t, n.sluice, passed, mediaCBOR)
		t.Run(r.Name, func(t *testing.T) { r.sameContent(t, want, got, strings.NewReplacer(passed, direct)) })
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
		cbor, apply := map[string]Lines{"Content-Type": {mediaCBOR}}, map[string]Lines{"Content-Type": {"application/apply-patch+cbor"}}
		for _, r := range []Row{
			{Method: "POST", Path: "/api/v1/namespaces/{ns}/configmaps", Header: cbor},
			{Method: "PUT", Path: "/api/v1/namespaces/{ns}/configmaps/b", Header: cbor},
			{Method: "PATCH", Path: "/api/v1/namespaces/{ns}/configmaps/b?fieldManager=me", Header: apply},
			{Method: "DELETE", Path: "/api/v1/namespaces/{ns}/configmaps/b", Header: cbor},
		} {
			for _, accept := range []string{mediaJSON, mediaCBOR + "," + mediaJSON + ";q=0.9", "*/*"} {
				r.Body = body
				want, got := r.respond(t, n.apiserver, ns, accept), r.respond(t, n.sluice, ns, accept)
				if got.Status != want.Status || string(got.Body) != string(want.Body) || got.Header.Get("Content-Type") != want.Header.Get("Content-Type") {
					t.Errorf("%s of %s for %s: %d %s, want %d %s", r.Method, name, accept, got.Status, got.Body, want.Status, want.Body)
				}
			}
		}
	}
}

// respond sends the row, with a namespace for {ns}.
func (r Row) respond(t *testing.T, s server, ns, accept string) *harness.Response {
	t.Helper()
	r.Accept = accept
	one := r.replace(strings.NewReplacer("{ns}", ns))
	return s.Raw(one.user()).MustDo(t, one.request())
}

// sameContent compares both responses except for namespaces, UIDs, resource versions and times. The
// apiserver writes 403 in JSON.
func (r Row) sameContent(t *testing.T, want, got *harness.Response, names *strings.Replacer) {
	if want.Status != r.Status || got.Status != r.Status {
		t.Fatalf("apiserver %d, Sluice %d, want %d: %s %q", want.Status, got.Status, r.Status, want.Body, got.Body)
	}
	contentType := mediaCBOR
	if r.Status == http.StatusForbidden {
		contentType = mediaJSON
	}
	if got.Header.Get("Content-Type") != contentType {
		t.Errorf("Content-Type is %s", got.Header.Get("Content-Type"))
	}
	if source := got.Header.Get("Sluice-Source"); r.User == "" && !strings.HasPrefix(source, "cache") && !strings.HasSuffix(source, "; transcoded") {
		t.Errorf("source is %s", source)
	}
	if diff := gocmp.Diff(want.Header["Warning"], got.Header["Warning"]); diff != "" {
		t.Errorf("warnings: apiserver (-) and Sluice (+):\n%s", diff)
	}
	if strings.Contains(r.Name, "unknown field") && r.Status == 201 && (len(got.Header["Warning"]) == 0) != strings.HasSuffix(r.Name, "Ignore") {
		t.Errorf("warnings are %v", got.Header["Warning"])
	}
	if want.Header.Get("Location") != got.Header.Get("Location") {
		t.Errorf("location is %q", got.Header.Get("Location"))
	}
	var w, g map[string]any
	err := json.Unmarshal(want.Body, &w)
	if contentType == mediaCBOR {
		g = decodeCBOR(t, got.Body)
	} else {
		err = errors.Join(err, json.Unmarshal(got.Body, &g))
	}
	if err != nil {
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
	object := &unstructured.Unstructured{}
	if _, _, err := apicbor.NewSerializer(kinds, kinds).Decode(body, nil, object); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return object.Object
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
