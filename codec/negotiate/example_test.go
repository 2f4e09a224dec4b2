package negotiate_test

import (
	"fmt"

	"sluice/codec"
	"sluice/codec/negotiate"
)

func ExampleFormat() {
	list := negotiate.Endpoint{Verb: negotiate.List}
	for _, accept := range []string{
		"application/yaml;q=0.5, application/json;as=Table;g=meta.k8s.io;v=v1",
		"application/vnd.kubernetes.protobuf, application/json",
		"text/html",
	} {
		f, ok := negotiate.Format(negotiate.Request{Accept: accept}, list)
		fmt.Println(ok, f.Encoding, f.Shape)
	}
	// Output:
	// true json table
	// true protobuf object
	// false json object
}

// Custom resources have no Protobuf, except for their metadata.
func ExampleFormat_customResource() {
	get := negotiate.Endpoint{Verb: negotiate.Get, Style: codec.Unstructured}
	for _, accept := range []string{
		"application/vnd.kubernetes.protobuf, application/json",
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
	} {
		f, _ := negotiate.Format(negotiate.Request{Accept: accept}, get)
		fmt.Println(f.Encoding, f.Shape)
	}
	// Output:
	// json object
	// protobuf metadata
}

// An error is never converted: a client that accepts only Tables gets it as indented JSON.
func ExampleErrorFormat() {
	r := negotiate.Request{Accept: "application/json;as=Table;g=meta.k8s.io;v=v1"}
	f := negotiate.ErrorFormat(r, true)
	fmt.Println(f.Encoding, f.Shape, f.Pretty)
	// Output: json object true
}

func ExampleRequest_Accepts() {
	r := negotiate.Request{Accept: "application/cbor, application/json;q=0.9"}
	fmt.Println(r.Accepts(codec.JSON), r.Accepts(codec.YAML))
	// Output: true false
}

func ExampleUpstreamAccept() {
	fmt.Println(negotiate.UpstreamAccept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", negotiate.List))
	// Output: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1
}
