package negotiate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"sluice/codec"
)

const (
	asTable = ";as=Table;g=meta.k8s.io;v=v1"
	asPOM   = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asPOML  = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

func TestFormatFollowsTheApiserver(t *testing.T) {
	type want struct {
		format  codec.Format
		refused bool
		errors  codec.Format
	}
	json, yaml, proto, cbor := codec.Format{}, codec.Format{Encoding: codec.YAML}, codec.Format{Encoding: codec.Protobuf}, codec.Format{Encoding: codec.CBOR}
	indented := codec.Format{Pretty: true}
	metadata := codec.Format{Shape: codec.Metadata}
	for _, row := range []struct {
		name     string
		request  Request
		endpoint Endpoint
		want     want
	}{
		{"get nothing", Request{}, Endpoint{}, want{format: json}},
		{"watch nothing", Request{}, Endpoint{Verb: Watch}, want{format: json}},
		{"get yaml", Request{Accept: "application/yaml"}, Endpoint{}, want{format: yaml, errors: yaml}},
		{"get proto", Request{Accept: codec.MediaProtobuf}, Endpoint{}, want{format: proto, errors: proto}},
		{"watch proto", Request{Accept: codec.MediaProtobuf}, Endpoint{Verb: Watch}, want{format: proto, errors: proto}},
		{"watch proto stream", Request{Accept: codec.MediaProtobuf + ";stream=watch"}, Endpoint{Verb: Watch}, want{format: proto, errors: proto}},
		{"get cbor offered", Request{Accept: codec.MediaCBOR}, Endpoint{CBOR: true}, want{format: cbor, errors: cbor}},
		{"watch cbor offered", Request{Accept: codec.MediaCBOR}, Endpoint{CBOR: true, Verb: Watch}, want{format: cbor, errors: cbor}},
		{"get cbor not offered", Request{Accept: codec.MediaCBOR}, Endpoint{}, want{refused: true, errors: indented}},
		{"get cbor refused lists cbor", Request{Accept: "text/html"}, Endpoint{CBOR: true}, want{refused: true, errors: indented}},
		{"cbor before json", Request{Accept: "application/cbor, application/json;q=0.9"}, Endpoint{CBOR: true}, want{format: cbor, errors: cbor}},
		{"watch yaml", Request{Accept: codec.MediaYAML}, Endpoint{Verb: Watch}, want{refused: true, errors: yaml}},
		{"watch yaml then json", Request{Accept: "application/yaml,application/json"}, Endpoint{Verb: Watch}, want{refused: true, errors: yaml}},
		{"range typed", Request{Accept: "application/*"}, Endpoint{}, want{refused: true, errors: json}},
		{"range custom", Request{Accept: "application/*"}, Endpoint{Style: codec.Unstructured}, want{format: json}},
		{"star custom", Request{Accept: "*"}, Endpoint{Style: codec.Unstructured}, want{format: json}},
		{"proto custom", Request{Accept: codec.MediaProtobuf}, Endpoint{Style: codec.Unstructured}, want{refused: true, errors: proto}},
		{"proto then json custom", Request{Accept: "application/vnd.kubernetes.protobuf,application/json"}, Endpoint{Style: codec.Unstructured}, want{format: json, errors: proto}},
		{"proto metadata custom", Request{Accept: codec.MediaProtobuf + asPOM}, Endpoint{Style: codec.Unstructured}, want{format: codec.Format{Encoding: codec.Protobuf, Shape: codec.Metadata}, errors: indented}},
		{"table", Request{Accept: codec.MediaJSON + asTable}, Endpoint{Verb: List}, want{format: codec.Format{Shape: codec.Table}, errors: indented}},
		{"table yaml", Request{Accept: codec.MediaYAML + asTable}, Endpoint{Verb: List}, want{format: codec.Format{Encoding: codec.YAML, Shape: codec.Table}, errors: indented}},
		{"table yaml watch", Request{Accept: codec.MediaYAML + asTable}, Endpoint{Verb: Watch}, want{refused: true, errors: indented}},
		{"table yaml watch bad include", Request{Accept: codec.MediaYAML + asTable, IncludeObject: "x"}, Endpoint{Verb: Watch}, want{refused: true, errors: indented}},
		{"table proto", Request{Accept: codec.MediaProtobuf + asTable}, Endpoint{Verb: List}, want{refused: true, errors: indented}},
		{"table v1beta1", Request{Accept: "application/json;as=Table;g=meta.k8s.io;v=v1beta1"}, Endpoint{}, want{format: codec.Format{Shape: codec.Table, MetaVersion: codec.MetaV1beta1}, errors: indented}},
		{"table include none", Request{Accept: codec.MediaJSON + asTable, IncludeObject: "None"}, Endpoint{}, want{format: codec.Format{Shape: codec.Table, Include: codec.IncludeNone}, errors: indented}},
		{"table include object", Request{Accept: codec.MediaJSON + asTable, IncludeObject: "Object"}, Endpoint{}, want{format: codec.Format{Shape: codec.Table, Include: codec.IncludeObject}, errors: indented}},
		{"include without table", Request{Accept: codec.MediaJSON, IncludeObject: "Bogus"}, Endpoint{}, want{format: json}},
		{"include with metadata", Request{Accept: codec.MediaJSON + asPOM, IncludeObject: "Object"}, Endpoint{}, want{format: metadata, errors: indented}},
		{"metadata get", Request{Accept: codec.MediaJSON + asPOM}, Endpoint{}, want{format: metadata, errors: indented}},
		{"metadata list lenient", Request{Accept: codec.MediaJSON + asPOM}, Endpoint{Verb: List}, want{format: metadata, errors: indented}},
		{"metadata list strict", Request{Accept: codec.MediaJSON + asPOM}, Endpoint{Verb: List, Strict: true}, want{refused: true, errors: indented}},
		{"metadata list strict custom", Request{Accept: codec.MediaJSON + asPOM}, Endpoint{Verb: List, Strict: true, Style: codec.Unstructured}, want{refused: true, errors: indented}},
		{"metadatalist list", Request{Accept: codec.MediaJSON + asPOML}, Endpoint{Verb: List, Strict: true}, want{format: metadata, errors: indented}},
		{"metadatalist get", Request{Accept: codec.MediaJSON + asPOML}, Endpoint{}, want{refused: true, errors: indented}},
		{"metadatalist watch", Request{Accept: codec.MediaJSON + asPOML}, Endpoint{Verb: Watch}, want{refused: true, errors: indented}},
		{"metadata v1beta1", Request{Accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1"}, Endpoint{Verb: List},
			want{format: codec.Format{Shape: codec.Metadata, MetaVersion: codec.MetaV1beta1}, errors: indented}},
		{"metadata yaml", Request{Accept: codec.MediaYAML + asPOML}, Endpoint{Verb: List}, want{format: codec.Format{Encoding: codec.YAML, Shape: codec.Metadata}, errors: indented}},
		{"stream on get", Request{Accept: "application/json;stream=watch"}, Endpoint{}, want{format: json}},
		{"sv v1", Request{Accept: "application/json;sv=v1"}, Endpoint{}, want{format: json, errors: indented}},
		{"pretty accept", Request{Accept: "application/json;pretty=1"}, Endpoint{}, want{format: indented, errors: indented}},
		{"pretty on watch", Request{Accept: "application/json;pretty=1", Pretty: "true", UserAgent: "curl/8"}, Endpoint{Verb: Watch}, want{format: json, errors: indented}},
		{"pretty on yaml", Request{Accept: "application/yaml;pretty=1"}, Endpoint{}, want{format: yaml, errors: yaml}},
		{"pretty curl", Request{UserAgent: "curl/8.1"}, Endpoint{}, want{format: indented, errors: indented}},
		{"pretty browser", Request{UserAgent: "Mozilla/5.0 (X11)"}, Endpoint{}, want{format: indented, errors: indented}},
		{"pretty old browser", Request{UserAgent: "Mozilla/4.0"}, Endpoint{}, want{format: json}},
		{"pretty curl off", Request{UserAgent: "curl/8", Pretty: "false"}, Endpoint{}, want{format: json}},
		{"pretty curl nonsense", Request{UserAgent: "curl/8", Pretty: "yes"}, Endpoint{}, want{format: json}},
		{"pretty accept beats query", Request{Accept: "application/json;pretty=1", Pretty: "false"}, Endpoint{}, want{format: indented, errors: indented}},
		{"pretty table", Request{Accept: codec.MediaJSON + asTable, Pretty: "1"}, Endpoint{}, want{format: codec.Format{Shape: codec.Table, Pretty: true}, errors: indented}},
		{"capitals", Request{Accept: "Application/JSON"}, Endpoint{}, want{refused: true, errors: indented}},
		{"tab is not trimmed", Request{Accept: "\tapplication/json"}, Endpoint{}, want{refused: true, errors: indented}},
		{"spaces are trimmed", Request{Accept: "  application/json  ;  q=1 , text/html"}, Endpoint{}, want{format: json}},
		{"q ignored by the router", Request{Accept: "text/html, */*;q=0"}, Endpoint{}, want{format: json}},
		{"q zero", Request{Accept: "application/json;q=0"}, Endpoint{}, want{format: json}},
		{"half star", Request{Accept: "*/json"}, Endpoint{}, want{refused: true, errors: indented}},
		{"only commas", Request{Accept: ",,,"}, Endpoint{}, want{refused: true, errors: indented}},
		{"cbor-seq watch", Request{Accept: "application/cbor-seq"}, Endpoint{CBOR: true, Verb: Watch}, want{refused: true, errors: indented}},
		{"cbor-seq then json watch", Request{Accept: "application/cbor-seq,application/json"}, Endpoint{CBOR: true, Verb: Watch}, want{format: json}},
		{"table cbor", Request{Accept: codec.MediaCBOR + asTable}, Endpoint{CBOR: true, Verb: List}, want{refused: true, errors: indented}},
		{"metadata cbor", Request{Accept: codec.MediaCBOR + asPOM}, Endpoint{CBOR: true}, want{format: codec.Format{Encoding: codec.CBOR, Shape: codec.Metadata}, errors: indented}},
		{"kubectl", Request{Accept: commonAccepts[12]}, Endpoint{Verb: List}, want{format: codec.Format{Shape: codec.Table}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, ok := Format(row.request, row.endpoint)
			got := want{format: f, refused: !ok, errors: ErrorFormat(row.request, row.endpoint.CBOR)}
			if got != row.want {
				t.Errorf("got\n%+v\nwant\n%+v", got, row.want)
			}
		})
	}
}

func TestErrorFormatHasNoCBORThatIsNotOffered(t *testing.T) {
	if f := ErrorFormat(Request{Accept: codec.MediaCBOR}, false); f != (codec.Format{Pretty: true}) {
		t.Errorf("an error for a CBOR client: %+v", f)
	}
}

// oracle has the restrictions of the apiserver's endpoints.
type oracle struct{ unstructured bool }

func (o oracle) AllowsMediaTypeTransform(mime, sub string, gvk *schema.GroupVersionKind) bool {
	if gvk == nil {
		return !(o.unstructured && sub == "vnd.kubernetes.protobuf")
	}
	if gvk.Group != "meta.k8s.io" || gvk.Version != "v1" && gvk.Version != "v1beta1" {
		return false
	}
	switch gvk.Kind {
	case "Table":
		return mime == "application" && (sub == "json" || sub == "yaml")
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	}
	return false
}
func (oracle) AllowsServerVersion(v string) bool { return v == "v1" }
func (oracle) AllowsStreamSchema(s string) bool  { return s == "watch" }

func serializers(cbor bool) []runtime.SerializerInfo {
	stream := &runtime.StreamSerializerInfo{}
	infos := []runtime.SerializerInfo{
		{MediaType: codec.MediaJSON, MediaTypeType: "application", MediaTypeSubType: "json", StreamSerializer: stream},
		{MediaType: codec.MediaYAML, MediaTypeType: "application", MediaTypeSubType: "yaml"},
		{MediaType: codec.MediaProtobuf, MediaTypeType: "application", MediaTypeSubType: "vnd.kubernetes.protobuf", StreamSerializer: stream},
	}
	if cbor {
		infos = append(infos, runtime.SerializerInfo{MediaType: codec.MediaCBOR, MediaTypeType: "application", MediaTypeSubType: "cbor", StreamSerializer: stream})
	}
	return infos
}

// oddAccepts are headers whose clauses are refused or read in unexpected ways.
var oddAccepts = []string{
	codec.MediaCBOR, "text/html", "application/cbor, application/json;q=0.9", codec.MediaYAML,
	"application/*;q=0.9, application/yaml;q=0.1", codec.MediaProtobuf + asPOM, "*/*" + asTable,
	`application/json;as="Table";g=meta.k8s.io;v=v1`, "application/json;as=Table;g=meta.k8s.io;v=v2",
	"application/json;as=Table;g=x;v=v1", "application/json;as=Table", "application/json;g=meta.k8s.io",
	"application/json;v=v1", "application/json;as=", "application/json;as=Status;g=meta.k8s.io;v=v1",
	codec.MediaJSON + asTable, codec.MediaJSON + asPOM, codec.MediaJSON + asPOML,
	codec.MediaJSON + asPOM + "," + codec.MediaJSON, "application/yaml;stream=watch", "application/json;stream=foo",
	"application/json;stream=foo, application/yaml", "application/json;sv=v2", "application/json;pretty=true",
	"application/json;charset=utf-8", "Application/JSON", "application/json;q=1.5,application/yaml",
	"application/json;q=abc,application/yaml;q=0.1", "application/json;q=0.1,application/yaml;q=0.2",
	"*/*, application/yaml", "application/json;stream=foo=bar", "*/json", ",,,", "application/json/x",
	"application/cbor-seq",
}

// FuzzChoose compares the choice of a clause, for objects and for errors, with the apiserver's code.
func FuzzChoose(f *testing.F) {
	for _, a := range append(commonAccepts, oddAccepts...) {
		for i := range 4 {
			f.Add(a, i&1 == 0, i&2 == 0)
		}
	}
	f.Add("a/b;q=1,*/*;q=.5,application/*,application/yaml;q=0.1,text/*", false, true)
	f.Add(strings.Repeat("*/*;q=0.1,application/yaml;q=0.2,application/*,", 9), false, true)
	f.Fuzz(func(t *testing.T, accept string, unstructured, cbor bool) {
		endpoint := Endpoint{Verb: List, CBOR: cbor}
		if unstructured {
			endpoint.Style = codec.Unstructured
		}
		want, ok := negotiation.NegotiateMediaTypeOptions(accept, serializers(cbor), oracle{unstructured})
		got, gotOK := rulesFor(endpoint).choose(accept)
		if ok != gotOK || ok && (want.Accepted.MediaType != got.encoding.MediaType() || want.Pretty != got.pretty ||
			(want.Convert != nil) != got.convert.wanted || want.Convert != nil && want.Convert.Kind != got.convert.kind) {
			t.Errorf("%q: got %+v %v, want %+v %v", accept, got, gotOK, want, ok)
		}
		want, ok = negotiation.NegotiateMediaTypeOptions(accept, serializers(cbor), negotiation.DefaultEndpointRestrictions)
		got, gotOK = errorRules(cbor).choose(accept)
		if ok != gotOK || ok && (want.Accepted.MediaType != got.encoding.MediaType() || want.Pretty != got.pretty) {
			t.Errorf("%q as error: got %+v %v, want %+v %v", accept, got, gotOK, want, ok)
		}
	})
}
