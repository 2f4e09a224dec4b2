package conformance

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"sluice/codec/cbor"
	codecjson "sluice/codec/json"
	"sluice/codec/projection"
	"sluice/test/harness"
)

// TestProjectionsAreThoseOfTheApiserversAnswer compares with the projection of whole objects of the apiserver.
func TestProjectionsAreThoseOfTheApiserversAnswer(t *testing.T) {
	t.Parallel()
	const (
		table    = ";as=Table;g=meta.k8s.io;v=v1"
		partial  = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		partials = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
		maps     = "/api/v1/namespaces/o/configmaps"
		foos     = "/apis/ex.io/v1/namespaces/o/foos"
		roles    = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
		services = "/api/v1/namespaces/default/services"
		initial  = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
		any      = "?resourceVersion=0"
		managed  = "drop=metadata.managedFields"
	)
	for _, c := range []string{"/api/v1/configmaps", "/apis/ex.io/v1/foos", roles, "/api/v1/services"} {
		sluice.WaitForCacheSync(t, c, resourceName(c))
	}
	for _, tt := range []struct{ path, as, projection string }{
		{maps + any, "", managed},
		{maps + any, "", "keep=data"},
		{maps + any, "", "keep=data[a]+metadata"},
		{maps + any + "&limit=2", "", "drop=data"},
		{maps + any + "&labelSelector=%21nope", "", managed},
		{maps + any + "&includeObject=Object", table, managed},
		{maps + "/a" + any, "", "keep=data"},
		{maps + "/a" + any, "", managed},
		{maps + "/a" + any, partial, managed},
		{maps + initial, "", "keep=data"},
		{maps + initial, "", managed},
		{foos + any, "", managed},
		{foos + any, "", "keep=spec"},
		{foos + any, "", "drop=spec+metadata.managedFields[*].fieldsV1"},
		{foos + any, table, managed},
		{foos + any, partials, managed},
		{foos + any, partials, "keep=metadata.managedFields[*].manager"},
		{foos + initial, "", "keep=spec"},
		{foos + initial, partial, managed},
		{roles + any, "", "keep=rules[*].verbs"},
		{roles + any, "", "drop=rules[*].verbs+metadata.annotations[rbac.authorization.kubernetes.io/autoupdate]"},
		{roles + initial, "", "drop=rules[*].apiGroups+aggregationRule"},
		{services + any, "", "keep=spec.ports[*].port+spec.clusterIPs"},
		{services + any, "", "keep=status.loadBalancer"},
	} {
		for _, media := range []string{"json", "yaml", "cbor", "vnd.kubernetes.protobuf"} {
			watch := strings.Contains(tt.path, "watch=1")
			proto := media == "vnd.kubernetes.protobuf"
			if proto && (tt.as != "" || watch || strings.Contains(tt.path, "ex.io")) || media == "yaml" && watch || media != "json" && tt.as == table || media == "cbor" && watch {
				continue
			}
			t.Run(tt.path+" "+media+tt.as+" "+tt.projection, func(t *testing.T) {
				t.Parallel()
				compareProjection(t, tt.path, "application/"+media, tt.as, tt.projection)
			})
		}
	}
	for accept, want := range map[string]string{
		"application/json;keep=spec":           "v1.ConfigMap.spec: no such field",
		"application/json;keep=data.a.b":       "paths into one value of a map are not supported",
		"application/json;drop=metadata.name":  "cannot be dropped",
		"application/json;keep=data;drop=data": "keep and drop exclude each other",
	} {
		a, err := sluice.Raw("admin").Get(t.Context(), maps+any, accept)
		if err != nil || a.Status != http.StatusNotAcceptable || !strings.Contains(string(a.Body), want) {
			t.Errorf("%s: %d %s, %v, want %s", accept, a.Status, a.Body, err, want)
		}
	}
}

// compareProjection projects the whole objects of the apiserver, and compares them with the response of Sluice.
func compareProjection(t *testing.T, path, media, as, text string) {
	t.Helper()
	parameter, paths, _ := strings.Cut(text, "=")
	parameters := map[string]string{parameter: paths}
	p, err := projection.Parse(parameters["keep"], parameters["drop"])
	if err != nil {
		t.Fatal(err)
	}
	row := Row{Path: path, Header: map[string]Lines{"Accept": {"application/json" + as}}}
	if strings.Contains(path, "watch=1") {
		row.Until = "k8s.io/initial-events-end"
	}
	whole, err := row.send(t.Context(), apiserver)
	if err != nil {
		t.Fatal(err)
	}
	row.Header["Accept"] = Lines{media + as + ";" + text}
	got, err := row.send(t.Context(), sluice)
	if err != nil {
		t.Fatal(err)
	}
	if source := got.Header.Get("Sluice-Source"); !strings.HasPrefix(source, "cache") {
		t.Errorf("source is %q: %d %s", source, got.Status, got.Body)
	}
	said := strings.Contains(strings.Join(got.Header["Warning"], " "), "objects are partial: "+string(p))
	if named := strings.Contains(got.Header.Get("Content-Type"), ";"+parameter+"="); said != named || said == (p == projection.WithoutManagedFields) {
		t.Errorf("%s: Warning %q, Content-Type %q", text, got.Header["Warning"], got.Header.Get("Content-Type"))
	}
	wantObjects, gotObjects := objectsOf(t, whole), objectsOf(t, got)
	if len(wantObjects) == 0 {
		t.Fatal("the apiserver has no objects")
	}
	for i := range wantObjects {
		wantObjects[i] = projected(t, wantObjects[i], p)
	}
	if strings.HasSuffix(media, "protobuf") { // it has no empty maps, and its Go types print fields that are not in the response
		for i := range gotObjects {
			gotObjects[i] = withoutEmpty(projected(t, gotObjects[i], p))
			wantObjects[i] = withoutEmpty(wantObjects[i])
		}
	}
	if diff := cmp.Diff(wantObjects, gotObjects); diff != "" {
		t.Errorf("(-projected +got):\n%s", diff)
	}
}

// withoutEmpty removes members that are empty or null.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withoutEmpty(v[name])
			if object, ok := v[name].(map[string]any); v[name] == nil || ok && len(object) == 0 {
				delete(v, name)
			}
		}
	}
	return v
}

// projected returns the projection of an object, or of the object in the row of a Table.
func projected(t *testing.T, object any, p projection.Projection) any {
	t.Helper()
	if row, ok := object.(map[string]any); ok && row["cells"] != nil {
		row["object"] = projected(t, row["object"], p)
		return row
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = codecjson.AppendProjected(nil, text, p.Tree()); err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// objectsOf decodes the objects, rows or events but bookmarks of a response.
func objectsOf(t *testing.T, a *harness.Response) (objects []any) {
	t.Helper()
	body := a.Body
	media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	switch media {
	case "application/yaml":
		body, err = yaml.YAMLToJSON(body)
	case "application/cbor":
		body, err = cbor.AppendJSON(nil, body)
	case "application/vnd.kubernetes.protobuf":
		var o runtime.Object
		if o, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
			body, err = json.Marshal(o)
		}
	default:
		body = normalize(body, http.Header{"Content-Type": {media}, "Content-Encoding": a.Header["Content-Encoding"]}, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	for in := json.NewDecoder(bytes.NewReader(body)); in.More(); {
		var v map[string]any
		if err := in.Decode(&v); err != nil {
			t.Fatal(err)
		}
		switch {
		case v["type"] == "BOOKMARK":
		case v["type"] != nil && v["object"] != nil:
			objects = append(objects, v["object"])
		case v["rows"] != nil:
			objects = append(objects, v["rows"].([]any)...)
		case v["items"] != nil:
			objects = append(objects, v["items"].([]any)...)
		default:
			objects = append(objects, v)
		}
	}
	return objects
}
