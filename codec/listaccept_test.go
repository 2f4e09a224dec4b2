package codec

import "testing"

// TestListAccept: what was refused strictly is what the list of metadata is, and nothing else changes.
func TestListAccept(t *testing.T) {
	const meta = ";v=v1;g=meta.k8s.io"
	for _, tc := range []struct{ accept, want string }{
		{"", ""},
		{"application/json", "application/json"},
		{"application/json;as=PartialObjectMetadata" + meta, "application/json;as=PartialObjectMetadataList" + meta},
		{"application/json;g=meta.k8s.io;v=v1; as=PartialObjectMetadata ", "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadataList"},
		{"a/b;as=PartialObjectMetadata,application/json;as=PartialObjectMetadata,c/d", "a/b;as=PartialObjectMetadataList,application/json;as=PartialObjectMetadataList,c/d"},
		{"application/json;as=PartialObjectMetadataList" + meta, "application/json;as=PartialObjectMetadataList" + meta},
		{"application/json;as=PartialObjectMetadataX", "application/json;as=PartialObjectMetadataX"},
		{"application/json;has=PartialObjectMetadata", "application/json;has=PartialObjectMetadata"},
	} {
		if got := ListAccept(tc.accept); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.accept, got, tc.want)
		}
	}
	for _, accept := range commonAccepts {
		extended := Negotiate(Client{Accept: accept}, Target{Verb: List})
		asked := Negotiate(Client{Accept: ListAccept(accept)}, Target{Verb: List, Strict: true})
		if extended.Format != asked.Format || (extended.Refusal == nil) != (asked.Refusal == nil) {
			t.Errorf("%q: the cache answers %+v, the apiserver %+v", accept, extended, asked)
		}
	}
}
