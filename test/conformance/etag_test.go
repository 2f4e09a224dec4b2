package conformance

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"sluice/test/harness"
)

const etagConfig = `
apiVersion: sluice/v1alpha1
kind: Configuration
features: {etags: true, shardSelector: true, dropManagedFields: true}
`

// getIfNoneMatch sends a GET, with If-None-Match unless tag is empty.
func getIfNoneMatch(t *testing.T, s server, user, path, accept, coding, tag string) *harness.Response {
	t.Helper()
	h := http.Header{"Accept": {accept}}
	if coding != "" {
		h.Set("Accept-Encoding", coding)
	}
	if tag != "" {
		h.Set("If-None-Match", tag)
	}
	a, err := s.Raw(user).Do(t.Context(), harness.Request{Path: path, Header: h})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var strongETag = regexp.MustCompile(`^"[\w-]{22}"$`)

// TestETagIdentifiesARepresentation: it is the same for the same bytes, and different for every
// other state, selection, encoding and coding.
func TestETagIdentifiesARepresentation(t *testing.T) {
	t.Parallel()
	apiserver := harness.Start(t) // not the shared one, whose rows would see these writes
	ns := apiserver.Namespace(t)
	in := "/api/v1/namespaces/" + ns + "/configmaps"
	for _, name := range []string{"a", "b", "c"} {
		w := Write{Path: in, Object: fmt.Appendf(nil, `{"metadata":{"name":%q,"labels":{"l":%q}},"data":{"k":%q}}`, name, name, strings.Repeat("x ", 100_000))}
		if err := w.sendTo(t.Context(), apiserver); err != nil {
			t.Fatal(err)
		}
	}
	extended := apiserver.StartSluice(t, harness.SluiceOptions{Config: etagConfig})
	extended.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	var l list
	if err := fetch(t.Context(), extended, in+"?resourceVersion=0", &l); err != nil {
		t.Fatal(err)
	}
	// At this version exactly, since bookmarks advance the store.
	list := in + "?resourceVersionMatch=Exact&resourceVersion=" + l.Metadata.ResourceVersion
	const half = "&shardSelector=shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000')"
	tags := map[string]string{}
	for _, row := range []struct{ path, accept, coding string }{
		{list, "application/json", ""},
		{list, "application/json", "gzip"},
		{list, "application/json", "zstd"},
		{list, "application/json;pretty=1", ""},
		{list, "application/json;drop=metadata.managedFields", ""},
		{list, "application/yaml", ""},
		{list, "application/cbor", ""},
		{list, "application/vnd.kubernetes.protobuf", ""},
		{list, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", ""},
		{list, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1", ""},
		{list + "&labelSelector=l=a", "application/json", ""},
		{list + "&fieldSelector=metadata.name=a", "application/json", ""},
		{list + half, "application/json", ""},
		{list + "&limit=1", "application/json", ""},
		{list + "&limit=2", "application/json", ""},
		{strings.Replace(list, "/namespaces/"+ns, "", 1), "application/json", ""},
		{strings.Replace(list, ns, "kube-system", 1), "application/json", ""},
		{in + "/a?resourceVersion=0", "application/json", ""},
		{in + "/b?resourceVersion=0", "application/json", ""},
		{in + "/a?resourceVersion=0", "application/json", "gzip"},
		{in + "/a?resourceVersion=0", "application/yaml", ""},
		{in + "/a?resourceVersion=0", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", ""},
	} {
		name := fmt.Sprint(row)
		tag := checkETag(t, name, func(have string) *harness.Response {
			return getIfNoneMatch(t, extended, "admin", row.path, row.accept, row.coding, have)
		})
		if other, ok := tags[tag]; ok {
			t.Errorf("%s has the ETag of %s", name, other)
		}
		tags[tag] = name
	}
	t.Run("page", func(t *testing.T) {
		var l struct{ Metadata struct{ Continue string } }
		if err := fetch(t.Context(), extended, list+"&limit=1", &l); err != nil {
			t.Fatal(err)
		}
		a := getIfNoneMatch(t, extended, "admin", in+"?limit=1&continue="+l.Metadata.Continue, "application/json", "", "")
		if tag := a.Header.Get("Etag"); !strongETag.MatchString(tag) || tags[tag] != "" {
			t.Errorf("the second page has the ETag %s of %q", tag, tags[tag])
		}
	})
	t.Run("without ETag", func(t *testing.T) { testWithoutETag(t, extended, in, list) })
	t.Run("other user", func(t *testing.T) {
		a := getIfNoneMatch(t, extended, "admin", list, "application/json", "", "")
		if b := getIfNoneMatch(t, extended, "nobody", list, "application/json", "", a.Header.Get("Etag")); b.Status != http.StatusForbidden {
			t.Errorf("forbidden user: %d", b.Status)
		}
	})
	t.Run("update", func(t *testing.T) { testETagAfterUpdate(t, apiserver, extended, in) })
	t.Run("other store", func(t *testing.T) {
		path := in + "/b?resourceVersion=0"
		before := getIfNoneMatch(t, extended, "admin", path, "application/json", "", "")
		extended.Restart(t)
		extended.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
		after := getIfNoneMatch(t, extended, "admin", path, "application/json", "", before.Header.Get("Etag"))
		if after.Status != http.StatusOK || after.Header.Get("Etag") == before.Header.Get("Etag") {
			t.Errorf("%d with ETag %s, before %s", after.Status, after.Header.Get("Etag"), before.Header.Get("Etag"))
		}
	})
}

// checkETag sends a request without If-None-Match, with the ETag of the response and with others.
// It returns the ETag.
func checkETag(t *testing.T, name string, get func(have string) *harness.Response) string {
	t.Helper()
	first := get("")
	tag := first.Header.Get("Etag")
	if first.Status != http.StatusOK || !strongETag.MatchString(tag) || first.Header.Get("Vary") != "Accept, Accept-Encoding" {
		t.Fatalf("%s: %d %v", name, first.Status, first.Header)
	}
	if again := get(""); again.Header.Get("Etag") != tag || string(again.Body) != string(first.Body) {
		t.Errorf("%s: the same request has the ETag %s, before %s", name, again.Header.Get("Etag"), tag)
	}
	for _, have := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		a := get(have)
		if a.Status != http.StatusNotModified || len(a.Body) != 0 {
			t.Errorf("%s, %s: %d with %d bytes", name, have, a.Status, len(a.Body))
		}
		for h, want := range map[string]string{
			"Etag": tag, "Vary": "Accept, Accept-Encoding", "Cache-Control": "no-cache, private", "Content-Type": "", "Content-Encoding": "",
		} {
			if got := a.Header.Get(h); got != want {
				t.Errorf("%s, %s: %s is %q, want %q", name, have, h, got, want)
			}
		}
	}
	if a := get(`"x"`); a.Status != http.StatusOK || string(a.Body) != string(first.Body) {
		t.Errorf("%s: %d for another ETag", name, a.Status)
	}
	return tag
}

// testWithoutETag reads responses that have no ETag.
func testWithoutETag(t *testing.T, extended server, in, list string) {
	const table = "application/json;as=Table;g=meta.k8s.io;v=v1"
	for name, a := range map[string]*harness.Response{
		"Table":        getIfNoneMatch(t, extended, "admin", list, table, "", "*"),
		"not found":    getIfNoneMatch(t, extended, "admin", in+"/none?resourceVersion=0", "application/json", "", "*"),
		"forbidden":    getIfNoneMatch(t, extended, "nobody", list, "application/json", "", "*"),
		"anonymous":    getIfNoneMatch(t, extended, harness.Anonymous, list, "application/json", "", "*"),
		"switched off": getIfNoneMatch(t, sluice, "admin", "/api/v1/namespaces/o/configmaps?resourceVersion=0", "application/json", "", "*"),
		"bad shard":    getIfNoneMatch(t, extended, "admin", list+"&shardSelector=x", "application/json", "", "*"),
		"bad selector": getIfNoneMatch(t, extended, "admin", list+"&labelSelector=,", "application/json", "", "*"),
		"passed":       getIfNoneMatch(t, extended, "admin", in+"/a", "application/json", "", "*"),
	} {
		want := map[string]int{"Table": 200, "not found": 404, "forbidden": 403, "anonymous": 403, "switched off": 200, "bad shard": 500, "bad selector": 400, "passed": 200}[name]
		if a.Status != want || a.Header.Get("Etag") != "" {
			t.Errorf("%s: %d, want %d, ETag %q", name, a.Status, want, a.Header.Get("Etag"))
		}
	}
}

// testETagAfterUpdate updates an object: its ETag and that of its list change, those of other
// objects do not.
func testETagAfterUpdate(t *testing.T, apiserver, extended server, in string) {
	paths := []string{in + "/a?resourceVersion=0", in + "/b?resourceVersion=0", in + "?resourceVersion=0", in}
	before := map[string]string{}
	for _, path := range paths {
		before[path] = getIfNoneMatch(t, extended, "admin", path, "application/json", "", "").Header.Get("Etag")
	}
	if err := (Write{Method: http.MethodPatch, Path: in + "/a", Object: []byte(`{"data":{"k":"other"}}`)}).sendTo(t.Context(), apiserver); err != nil {
		t.Fatal(err)
	}
	var o object
	if err := fetch(t.Context(), apiserver, in+"/a", &o); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "cached update", func() error {
		a := getIfNoneMatch(t, extended, "admin", in+"/a?resourceVersion="+o.Metadata.ResourceVersion, "application/json", "", "")
		if !strings.HasPrefix(a.Header.Get("Sluice-Source"), "cache") {
			return fmt.Errorf("source is %q", a.Header.Get("Sluice-Source"))
		}
		return nil
	})
	for i, path := range paths {
		a := getIfNoneMatch(t, extended, "admin", path, "application/json", "", before[path])
		if want := map[bool]int{true: http.StatusNotModified, false: http.StatusOK}[i == 1]; a.Status != want {
			t.Errorf("%s: %d, want %d", path, a.Status, want)
		}
		if i != 1 && !strings.Contains(string(a.Body), "other") {
			t.Errorf("%s: the state before the update", path)
		}
	}
}
