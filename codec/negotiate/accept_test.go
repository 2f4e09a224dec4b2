package negotiate

import (
	"strings"
	"testing"

	"sluice/codec"
)

func TestLongAcceptIsNotParsed(t *testing.T) {
	r := Request{Accept: "application/json," + strings.Repeat("a/b;q=0.1,", 90_000) + "*/*"}
	if n := testing.AllocsPerRun(3, func() {
		if _, ok := Format(r, Endpoint{Verb: List, Style: codec.Typed}); ok || r.Accepts(codec.JSON) {
			t.Error("accepted")
		}
		if f := ErrorFormat(r, true); f.Encoding != codec.JSON {
			t.Errorf("errors are written in %v", f)
		}
	}); n > 10 {
		t.Errorf("%v allocations", n)
	}
	r.Accept = strings.Repeat("a/b,", 2000) + "application/json"
	if !r.Accepts(codec.JSON) {
		t.Error("a header below the limit is not accepted")
	}
}

// commonAccepts are the headers that well-known clients send.
var commonAccepts = []string{
	"*/*",
	codec.MediaJSON,
	codec.MediaYAML,
	codec.MediaProtobuf,
	codec.MediaCBOR,
	// client-go
	"application/json, */*",
	"application/vnd.kubernetes.protobuf,application/json",
	"application/vnd.kubernetes.protobuf, application/json",
	"application/vnd.kubernetes.protobuf, */*",
	"application/cbor,application/json",
	"application/cbor, application/json;q=0.9",
	"application/cbor, application/json, */*",
	// kubectl get
	"application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
	// the metadata client, controller-runtime's metadata cache
	"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
	"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
	"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
	"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
}
