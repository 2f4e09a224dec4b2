package negotiate

import (
	"github.com/munnerz/goautoneg"

	"sluice/codec"
)

// commonAccepts are the headers that well-known clients send. They are parsed once, so that
// negotiation with these clients does not allocate.
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

// parsedAccepts maps each of commonAccepts to its clauses. It is read-only.
var parsedAccepts = func() map[string][]goautoneg.Accept {
	m := make(map[string][]goautoneg.Accept, len(commonAccepts))
	for _, h := range commonAccepts {
		m[h] = goautoneg.ParseAccept(h)
	}
	return m
}()

// maxAccept bounds the Accept headers that are parsed, in bytes: the library takes 0.3 s for a megabyte,
// and some requests are negotiated for callers that are not authenticated.
const maxAccept = 8 << 10

// clauses splits and sorts an Accept header with the library that the apiserver uses. Its comparison is
// not a strict weak order, so no other algorithm gives the same result (wire.md 1.2). A header above
// maxAccept has no clauses, as one that accepts nothing. The result is shared and must not be changed.
func clauses(accept string) []goautoneg.Accept {
	if len(accept) > maxAccept {
		return nil
	}
	if c, ok := parsedAccepts[accept]; ok {
		return c
	}
	return goautoneg.ParseAccept(accept)
}
