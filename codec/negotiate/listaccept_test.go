package negotiate

import "testing"

// TestUpstreamAcceptLeavesNothingThatTheApiserverRefuses and changes nothing else.
func TestUpstreamAcceptLeavesNothingThatTheApiserverRefuses(t *testing.T) {
	const meta = ";v=v1;g=meta.k8s.io"
	for _, tc := range []struct{ accept, want string }{
		{"", ""},
		{"application/json", "application/json"},
		{"application/json;as=PartialObjectMetadata" + meta, "application/json;as=PartialObjectMetadataList" + meta},
		{"application/json;g=meta.k8s.io;v=v1; as=PartialObjectMetadata ", "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadataList"},
		{"a/b;as=PartialObjectMetadata,application/json;as=PartialObjectMetadata,c/d", "a/b;as=PartialObjectMetadataList,application/json;as=PartialObjectMetadataList,c/d"},
		{"application/json;as=PartialObjectMetadataList" + meta, "application/json;as=PartialObjectMetadataList" + meta},
		{"application/json;as=PartialObjectMetadataX", "application/json;as=PartialObjectMetadataX"},
		{"application/json;keep=spec;q=0.5, application/cbor; drop=metadata.managedFields", "application/json;q=0.5, application/cbor; drop=metadata.managedFields"},
		{"application/json;drop=spec;quiet=1", "application/json"},
		{"application/json;has=PartialObjectMetadata", "application/json;has=PartialObjectMetadata"},
	} {
		if got := UpstreamAccept(tc.accept, List); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.accept, got, tc.want)
		}
	}
	for _, accept := range commonAccepts {
		lenient, ok := Format(Request{Accept: accept}, Endpoint{Verb: List})
		strict, strictOK := Format(Request{Accept: UpstreamAccept(accept, List)}, Endpoint{Verb: List, Strict: true})
		if lenient != strict || ok != strictOK {
			t.Errorf("%q: lenient %+v %v, strict with the rewritten header %+v %v", accept, lenient, ok, strict, strictOK)
		}
	}
}
