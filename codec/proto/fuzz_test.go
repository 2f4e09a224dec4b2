package proto

import (
	"bytes"
	"testing"
)

// fuzzKinds are kinds that have every op between them.
var fuzzKinds = []kindKey{
	{"v1", "Pod"}, {"v1", "Secret"}, {"v1", "Event"}, {"v1", "PodList"},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinition"},
	{"authorization.k8s.io/v1", "SubjectAccessReview"},
	{"apps/v1", "ControllerRevision"}, {"networking.k8s.io/v1", "Ingress"},
}

// FuzzTranscode compares JSON, CBOR and Check with the typed decoders, starting from filled
// objects.
func FuzzTranscode(f *testing.F) {
	for i, k := range fuzzKinds {
		for seed := range int64(3) {
			obj := newObject(f, k.apiVersion, k.kind)
			newFiller(seed).Fill(obj)
			f.Add(uint8(i), raw(f, obj))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		k := fuzzKinds[int(kind)%len(fuzzKinds)]
		m := mustLookup(t, k.apiVersion, k.kind)
		checkBroken(t, m, b)
		if m.Check(b) == nil {
			checkCBOR(t, m, b)
		}
		_, _ = m.Field(b, "spec", "nodeName")
	})
}

// FuzzOuterForms covers everything that needs no schema.
func FuzzOuterForms(f *testing.F) {
	pod := raw(f, newObject(f, "v1", "Pod"))
	f.Add(pod)
	f.Add(AppendEnvelope(nil, "v1", "Pod", pod))
	f.Add(AppendEvent(nil, "ADDED", "v1", "Pod", pod)[framePrefix:])
	f.Add(AppendItem(appendBytes(nil, listMeta, "\x0a\x00\x12\x011\x1a\x01c"), pod))
	f.Add([]byte("\x0a\x02\x38\x01\x0a\x02\x0a\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if u, err := ParseEnvelope(b); err == nil {
			again, err := ParseEnvelope(AppendEnvelope(nil, string(u.APIVersion), string(u.Kind), u.Raw))
			if err != nil || !bytes.Equal(again.Raw, u.Raw) {
				t.Fatalf("%x: %v", b, err)
			}
		}
		_, _, _ = ParseEvent(b)
		_, _ = ParseListMeta(b)
		for range Items(b) {
			continue
		}
		m, err := ParseObjectMeta(b)
		if err != nil {
			return
		}
		for range m.Labels {
			continue
		}
		if _, err := PartialObjectMetadata(b); err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		changed, err := AppendWithResourceVersion(nil, b, "99")
		if err != nil || m.raw == nil {
			return // the rest of the metadata is invalid, or there is none
		}
		if again, err := ParseObjectMeta(changed); err != nil || string(again.ResourceVersion) != "99" || !bytes.Equal(again.Name, m.Name) {
			t.Fatalf("%x: %+v, %v", b, again, err)
		}
	})
}
