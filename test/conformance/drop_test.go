package conformance

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"sluice/codec/cbor"
	"sluice/codec/proto"
	"sluice/test/harness"
)

const dropManagedFields = `
apiVersion: sluice/v1alpha1
kind: Configuration
features: {dropManagedFields: true}
`

// TestDropManagedFieldsOmitsNothingElse: the apiserver does not support the parameter, so its
// responses are compared without managedFields.
func TestDropManagedFieldsOmitsNothingElse(t *testing.T) {
	t.Parallel()
	extended := apiserver.StartSluice(t, harness.SluiceOptions{Config: dropManagedFields})
	for _, c := range []string{"/api/v1/configmaps", "/apis/ex.io/v1/foos"} {
		extended.WaitForCacheSync(t, c, resourceName(c))
	}
	const table = ";as=Table;g=meta.k8s.io;v=v1"
	const partial = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	const partials = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	for name, tt := range map[string]struct{ path, accept string }{
		"list":            {"/api/v1/namespaces/o/configmaps?resourceVersion=0", "application/json"},
		"list in YAML":    {"/api/v1/namespaces/o/configmaps?resourceVersion=0", "application/yaml"},
		"list in CBOR":    {"/api/v1/namespaces/o/configmaps?resourceVersion=0", "application/cbor"},
		"selection":       {"/api/v1/namespaces/o/configmaps?resourceVersion=0&labelSelector=%21nope", "application/json"},
		"custom list":     {"/apis/ex.io/v1/namespaces/o/foos?resourceVersion=0", "application/json"},
		"custom in CBOR":  {"/apis/ex.io/v1/namespaces/o/foos?resourceVersion=0", "application/cbor"},
		"Table":           {"/api/v1/namespaces/o/configmaps?resourceVersion=0&includeObject=Object", "application/json" + table},
		"Table, metadata": {"/apis/ex.io/v1/namespaces/o/foos?resourceVersion=0", "application/json" + table},
		"metadata":        {"/apis/ex.io/v1/namespaces/o/foos?resourceVersion=0", "application/json" + partials},
		"get":             {"/api/v1/namespaces/o/configmaps/a?resourceVersion=0", "application/json"},
		"get metadata":    {"/api/v1/namespaces/o/configmaps/a?resourceVersion=0", "application/json" + partial},
		"watch":           {"/api/v1/namespaces/o/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "application/json"},
		"watch metadata":  {"/apis/ex.io/v1/namespaces/o/foos?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "application/json" + partial},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareUnmanaged(t, extended, tt.path, tt.accept)
		})
	}
	t.Run("Protobuf", func(t *testing.T) { compareUnmanagedProtobuf(t, extended) })
	t.Run("unknown field", func(t *testing.T) {
		const path, accept = "/api/v1/namespaces/o/configmaps?resourceVersion=0", "application/json;drop=spec,application/yaml;q=0.5"
		a, err := extended.Raw("admin").Get(t.Context(), path, accept)
		if err != nil || a.Header.Get("Content-Type") != "application/yaml" {
			t.Errorf("Content-Type is %q, %v", a.Header.Get("Content-Type"), err)
		}
	})
	t.Run("switched off", func(t *testing.T) {
		row := Row{
			Path: "/api/v1/namespaces/o/configmaps?resourceVersion=0", Accept: "application/json;drop=metadata.managedFields",
			Source: "cache", Status: 200, Shows: []string{"managedFields"},
		}
		row.check(t, apiserver, sluice)
	})
}

// compareUnmanaged compares a response without managedFields with that of the apiserver, from which
// it removes them.
func compareUnmanaged(t *testing.T, extended server, path, accept string) {
	t.Helper()
	row := Row{Path: path, Accept: accept}
	if strings.Contains(path, "watch=1") {
		row.Until = "k8s.io/initial-events-end"
	}
	row.Header = map[string]Lines{"Accept": {strings.ReplaceAll(accept, "cbor", "json")}}
	with, err := row.send(t.Context(), apiserver)
	if err != nil {
		t.Fatal(err)
	}
	row.Header["Accept"] = Lines{accept + ";drop=metadata.managedFields"}
	without, err := row.send(t.Context(), extended)
	if err != nil {
		t.Fatal(err)
	}
	if source := without.Header.Get("Sluice-Source"); !strings.HasPrefix(source, "cache") {
		t.Errorf("source is %q", source)
	}
	want, had := values(t, with)
	got, has := values(t, without)
	if had == 0 || has != 0 {
		t.Errorf("%d objects of the apiserver have managedFields, %d of Sluice", had, has)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-without managedFields +got):\n%s", diff)
	}
}

// compareUnmanagedProtobuf is compareUnmanaged for a list in Protobuf.
func compareUnmanagedProtobuf(t *testing.T, extended server) {
	t.Helper()
	const path, typ = "/api/v1/namespaces/o/configmaps?resourceVersion=0", "application/vnd.kubernetes.protobuf"
	var lists [2]corev1.ConfigMapList
	for i, read := range []struct {
		server server
		accept string
	}{{apiserver, typ}, {extended, typ + ";drop=metadata.managedFields"}} {
		a, err := read.server.Raw("admin").Get(t.Context(), path, read.accept)
		if err != nil {
			t.Fatal(err)
		}
		u, err := proto.ParseEnvelope(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := lists[i].Unmarshal(u.Raw); err != nil {
			t.Fatal(err)
		}
		lists[i].ResourceVersion = ""
		managed := 0
		for n := range lists[i].Items {
			managed += len(lists[i].Items[n].ManagedFields)
			lists[i].Items[n].ManagedFields = nil
		}
		if (managed > 0) != (i == 0) {
			t.Errorf("%d managedFields of %T", managed, read.server)
		}
	}
	if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
		t.Errorf("(-without managedFields +got):\n%s", diff)
	}
}

// values decodes a response without managedFields and list metadata, and returns how many objects
// had managedFields.
func values(t *testing.T, a *harness.Response) (all []any, managed int) {
	t.Helper()
	body := a.Body
	var err error
	switch a.Header.Get("Content-Type") {
	case "application/yaml":
		body, err = yaml.YAMLToJSON(body)
	case "application/cbor":
		body, err = cbor.AppendJSON(nil, body)
	default:
		body = normalize(body, a.Header, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	for in := json.NewDecoder(bytes.NewReader(body)); in.More(); {
		var v any
		if err := in.Decode(&v); err != nil {
			t.Fatal(err)
		}
		managed += prune(v)
		all = append(all, v)
	}
	return all, managed
}

// prune removes managedFields and list metadata, and returns how many objects had managedFields.
func prune(v any) (managed int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			managed += prune(e)
		}
	case map[string]any:
		if strings.HasSuffix(text(v["kind"]), "List") {
			delete(v, "metadata")
		}
		if metadata, ok := v["metadata"].(map[string]any); ok && metadata["managedFields"] != nil {
			delete(metadata, "managedFields")
			managed++
		}
		for _, e := range v {
			managed += prune(e)
		}
	}
	return managed
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
