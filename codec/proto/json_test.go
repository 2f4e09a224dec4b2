package proto

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// oracle decodes raw as the apiserver does when it reads from etcd, and encodes it with
// apimachinery's JSON serializer; for an item without TypeMeta.
func oracle(t testing.TB, m *Schema, raw []byte, item bool) ([]byte, error) {
	t.Helper()
	obj := newObject(t, m.APIVersion, m.Kind)
	if err := obj.Unmarshal(raw); err != nil {
		return nil, err
	}
	setNestedTypeMeta(obj)
	if !item {
		gv, err := schema.ParseGroupVersion(m.APIVersion)
		if err != nil {
			t.Fatal(err)
		}
		obj.GetObjectKind().SetGroupVersionKind(gv.WithKind(m.Kind))
	}
	var b bytes.Buffer
	if err := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, nil, nil, kjson.SerializerOptions{}).Encode(obj, &b); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// checkJSON compares AppendJSON with the oracle.
func checkJSON(t testing.TB, m *Schema, raw []byte) {
	t.Helper()
	want, err := oracle(t, m, raw, false)
	if err != nil {
		t.Fatalf("%s %s: oracle: %v", m.APIVersion, m.Kind, err)
	}
	if err := m.Check(raw); err != nil {
		t.Fatalf("%s %s: Check: %v", m.APIVersion, m.Kind, err)
	}
	got, err := m.AppendJSON(nil, raw)
	if err != nil {
		t.Fatalf("%s %s: %v", m.APIVersion, m.Kind, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s %s:\n got %s\nwant %s", m.APIVersion, m.Kind, around(got, want), around(want, got))
	}
}

// around returns the part of a around its first difference from b.
func around(a, b []byte) []byte {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return a[max(0, i-80):min(len(a), i+80)]
}

func TestGoldenFilesEncodeToTheSameJSON(t *testing.T) { eachGolden(t, checkJSON) }

// eachGolden runs check on the object of each golden file of the present release.
func eachGolden(t *testing.T, check func(t testing.TB, m *Schema, raw []byte)) {
	for name, file := range goldenFiles(t, "HEAD") {
		if name == "core.v1.WatchEvent.pb" || isNoResource(name) {
			continue // not a kind that an apiserver lists
		}
		t.Run(name, func(t *testing.T) {
			u, err := ParseEnvelope(file)
			if err != nil {
				t.Fatal(err)
			}
			check(t, mustLookup(t, string(u.APIVersion), string(u.Kind)), u.Raw)
		})
	}
}

// isNoResource reports whether a golden file is of a group that no apiserver lists: of webhooks or discovery.
func isNoResource(name string) bool {
	for _, group := range []string{"admission.k8s.io.", "apidiscovery.k8s.io.", "imagepolicy.k8s.io."} {
		if strings.HasPrefix(name, group) {
			return true
		}
	}
	return false
}

func TestEveryKindCompiles(t *testing.T) {
	n := 0
	for apiVersion, kind := range kinds {
		m := mustLookup(t, apiVersion, kind)
		checkJSON(t, m, raw(t, newObject(t, apiVersion, kind)))
		checkJSON(t, m, nil)
		checkCBOR(t, m, nil)
		n++
	}
	t.Logf("%d kinds", n)
}

// Objects of older releases encode to the same bytes, or are rejected because a field has been
// removed since.
func TestGoldenFilesOfOlderReleasesEncodeOrAreRejected(t *testing.T) {
	for _, version := range []string{"v1.33.0", "v1.34.0", "v1.35.0"} {
		same := 0
		for name, file := range goldenFiles(t, version) {
			u, err := ParseEnvelope(file)
			if err != nil {
				continue // WatchEvent is not a kind
			}
			m, ok := Lookup(string(u.APIVersion), string(u.Kind))
			if !ok {
				continue // removed since
			}
			if err := m.Check(u.Raw); errors.Is(err, ErrUnknownField) {
				t.Logf("%s %s: %v", version, name, err)
				continue
			}
			checkJSON(t, m, u.Raw)
			checkCBOR(t, m, u.Raw)
			same++
		}
		t.Logf("%s: %d", version, same)
	}
}
