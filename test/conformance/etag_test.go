package conformance

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"sluice/test/harness"
)

const giveTags = `
apiVersion: sluice/v1alpha1
kind: Configuration
features: {etags: true, shardSelector: true, dropManagedFields: true}
`

// tagged asks for a path, of the answer with this tag if there is one.
func tagged(t *testing.T, s server, user, path, accept, coding, tag string) *harness.Response {
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

var strong = regexp.MustCompile(`^"[\w-]{22}"$`)

// TestETags asks again for what it has, and for what is nearly the same.
func TestETags(t *testing.T) {
	t.Parallel()
	plane := harness.Start(t) // of its own: rows elsewhere compare what is written here
	ns := plane.Namespace(t)
	in := "/api/v1/namespaces/" + ns + "/configmaps"
	for _, name := range []string{"a", "b", "c"} {
		w := Write{Path: in, Object: fmt.Appendf(nil, `{"metadata":{"name":%q,"labels":{"l":%q}},"data":{"k":%q}}`, name, name, strings.Repeat("x ", 100_000))}
		if err := w.sendTo(t.Context(), plane); err != nil {
			t.Fatal(err)
		}
	}
	own := plane.StartSluice(t, harness.SluiceOptions{Config: giveTags})
	own.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	var l list
	if err := fetch(t.Context(), own, in+"?resourceVersion=0", &l); err != nil {
		t.Fatal(err)
	}
	// Exactly this version, since the store's moves on by bookmarks.
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
		tag := checkTag(t, name, func(have string) *harness.Response {
			return tagged(t, own, "admin", row.path, row.accept, row.coding, have)
		})
		if other, ok := tags[tag]; ok {
			t.Errorf("%s has the tag of %s", name, other)
		}
		tags[tag] = name
	}
	t.Run("page", func(t *testing.T) {
		var l struct{ Metadata struct{ Continue string } }
		if err := fetch(t.Context(), own, list+"&limit=1", &l); err != nil {
			t.Fatal(err)
		}
		a := tagged(t, own, "admin", in+"?limit=1&continue="+l.Metadata.Continue, "application/json", "", "")
		if tag := a.Header.Get("Etag"); !strong.MatchString(tag) || tags[tag] != "" {
			t.Errorf("the second page has the tag %s, that of %q", tag, tags[tag])
		}
	})
	t.Run("nothing", func(t *testing.T) { givesNoTag(t, own, in, list) })
	t.Run("rights of another", func(t *testing.T) {
		a := tagged(t, own, "admin", list, "application/json", "", "")
		if b := tagged(t, own, "nobody", list, "application/json", "", a.Header.Get("Etag")); b.Status != http.StatusForbidden {
			t.Errorf("%d for who may not see it", b.Status)
		}
	})
	t.Run("change", func(t *testing.T) { changesTags(t, plane, own, in) })
	t.Run("another store", func(t *testing.T) {
		path := in + "/b?resourceVersion=0"
		before := tagged(t, own, "admin", path, "application/json", "", "")
		own.Restart(t)
		own.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
		after := tagged(t, own, "admin", path, "application/json", "", before.Header.Get("Etag"))
		if after.Status != http.StatusOK || after.Header.Get("Etag") == before.Header.Get("Etag") {
			t.Errorf("%d with tag %s, before %s", after.Status, after.Header.Get("Etag"), before.Header.Get("Etag"))
		}
	})
}

// checkTag asks for something, then again with its tag and with others, and
// returns the tag.
func checkTag(t *testing.T, name string, ask func(have string) *harness.Response) string {
	t.Helper()
	first := ask("")
	tag := first.Header.Get("Etag")
	if first.Status != http.StatusOK || !strong.MatchString(tag) || first.Header.Get("Vary") != "Accept, Accept-Encoding" {
		t.Fatalf("%s: %d %v", name, first.Status, first.Header)
	}
	if again := ask(""); again.Header.Get("Etag") != tag || string(again.Body) != string(first.Body) {
		t.Errorf("%s: another answer with tag %s, before %s", name, again.Header.Get("Etag"), tag)
	}
	for _, have := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		a := ask(have)
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
	if a := ask(`"x"`); a.Status != http.StatusOK || string(a.Body) != string(first.Body) {
		t.Errorf("%s: %d for another tag", name, a.Status)
	}
	return tag
}

// givesNoTag asks for what has no entity tag.
func givesNoTag(t *testing.T, own server, in, list string) {
	const table = "application/json;as=Table;g=meta.k8s.io;v=v1"
	for name, a := range map[string]*harness.Response{
		"Table":        tagged(t, own, "admin", list, table, "", "*"),
		"no object":    tagged(t, own, "admin", in+"/none?resourceVersion=0", "application/json", "", "*"),
		"no right":     tagged(t, own, "nobody", list, "application/json", "", "*"),
		"no user":      tagged(t, own, harness.Anonymous, list, "application/json", "", "*"),
		"switched off": tagged(t, sluice, "admin", "/api/v1/namespaces/o/configmaps?resourceVersion=0", "application/json", "", "*"),
		"bad shard":    tagged(t, own, "admin", list+"&shardSelector=x", "application/json", "", "*"),
		"bad selector": tagged(t, own, "admin", list+"&labelSelector=,", "application/json", "", "*"),
		"passed":       tagged(t, own, "admin", in+"/a", "application/json", "", "*"),
	} {
		want := map[string]int{"Table": 200, "no object": 404, "no right": 403, "no user": 403, "switched off": 200, "bad shard": 500, "bad selector": 400, "passed": 200}[name]
		if a.Status != want || a.Header.Get("Etag") != "" {
			t.Errorf("%s: %d, want %d, tag %q", name, a.Status, want, a.Header.Get("Etag"))
		}
	}
}

// changesTags changes an object: its get and the list have other tags after
// that, the gets of others the same.
func changesTags(t *testing.T, plane, own server, in string) {
	paths := []string{in + "/a?resourceVersion=0", in + "/b?resourceVersion=0", in + "?resourceVersion=0", in}
	before := map[string]string{}
	for _, path := range paths {
		before[path] = tagged(t, own, "admin", path, "application/json", "", "").Header.Get("Etag")
	}
	if err := (Write{Method: http.MethodPatch, Path: in + "/a", Object: []byte(`{"data":{"k":"other"}}`)}).sendTo(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	var o object
	if err := fetch(t.Context(), plane, in+"/a", &o); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the change is cached", func() error {
		a := tagged(t, own, "admin", in+"/a?resourceVersion="+o.Metadata.ResourceVersion, "application/json", "", "")
		if !strings.HasPrefix(a.Header.Get("Sluice-Source"), "cache") {
			return fmt.Errorf("answered from %q", a.Header.Get("Sluice-Source"))
		}
		return nil
	})
	for i, path := range paths {
		a := tagged(t, own, "admin", path, "application/json", "", before[path])
		if want := map[bool]int{true: http.StatusNotModified, false: http.StatusOK}[i == 1]; a.Status != want {
			t.Errorf("%s: %d, want %d", path, a.Status, want)
		}
		if i != 1 && !strings.Contains(string(a.Body), "other") {
			t.Errorf("%s: the old state", path)
		}
	}
}
