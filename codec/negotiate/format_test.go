package negotiate

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"sluice/codec"
	"sluice/test/support/codectest"
)

// TestFormatIsThatOfRecordedResponses compares every recorded response with the format chosen for its
// request.
func TestFormatIsThatOfRecordedResponses(t *testing.T) {
	for i, x := range codectest.Read(t, "reads.jsonl") {
		t.Run(fmt.Sprintf("%d %s", i, x.Note), func(t *testing.T) {
			f, ok := Format(requestOf(x), endpointOf(x))
			switch {
			case x.Status == http.StatusNotFound:
				checkError(t, x)
			case x.Status != http.StatusOK:
				if ok {
					t.Errorf("%s %q: got %+v, the apiserver refused", x.Path, requestOf(x).Accept, f)
				}
				checkError(t, x)
			case len(x.Bytes()) == 0: // as=PartialObjectMetadataList of a watch
				if ok {
					t.Errorf("%s %q: got %+v, the apiserver sent nothing", x.Path, requestOf(x).Accept, f)
				}
			case !ok:
				t.Errorf("%s %q: refused", x.Path, requestOf(x).Accept)
			default:
				checkFormat(t, x, f)
			}
		})
	}
}

func requestOf(x *codectest.Exchange) Request {
	q := x.Query()
	return Request{
		Accept: x.Request("Accept"), UserAgent: x.Request("User-Agent"),
		Pretty: q.Get("pretty"), IncludeObject: q.Get("includeObject"),
	}
}

func endpointOf(x *codectest.Exchange) Endpoint {
	verbs := map[string]Verb{"get": Get, "list": List, "watch": Watch}
	e := Endpoint{Verb: verbs[x.Verb()], CBOR: x.CBOR(), Strict: true}
	if x.Custom() {
		e.Style = codec.Unstructured
	}
	return e
}

func checkError(t *testing.T, x *codectest.Exchange) {
	f := ErrorFormat(requestOf(x), x.CBOR())
	if got, want := f.ContentType(false), x.Response("Content-Type"); got != want {
		t.Errorf("error as %s, want %s", got, want)
	}
	if pretty := bytes.HasPrefix(x.Bytes(), []byte("{\n")); f.Pretty != pretty {
		t.Errorf("error with pretty=%v, want %v", f.Pretty, pretty)
	}
}

func checkFormat(t *testing.T, x *codectest.Exchange, f codec.Format) {
	watch := x.Verb() == "watch"
	if got, want := f.ContentType(watch), x.Response("Content-Type"); got != want {
		t.Errorf("%s %q: content type %s, want %s", x.Path, requestOf(x).Accept, got, want)
	}
	b := x.Bytes()
	if bytes.Contains(b, []byte("ERROR")) {
		return
	}
	if got := shapeOf(b); got != f.Shape && f.Include != codec.IncludeMetadata && !(got == codec.Metadata && f.Shape == codec.Table) {
		t.Errorf("shape %v, want %v", f.Shape, got)
	}
	if f.Shape != codec.Object && f.Encoding != codec.CBOR && !bytes.Contains(b, []byte(f.MetaVersion.String())) {
		t.Errorf("version %v", f.MetaVersion)
	}
	if pretty := bytes.HasPrefix(b, []byte("{\n")); pretty != f.Pretty {
		t.Errorf("pretty %v, want %v", f.Pretty, pretty)
	}
}

// shapeOf returns the shape of a recorded response in any encoding, by the kind in it.
func shapeOf(b []byte) codec.Shape {
	switch {
	case bytes.Contains(b, []byte("PartialObjectMetadata")):
		return codec.Metadata
	case bytes.Contains(b, []byte("columnDefinitions")):
		return codec.Table
	}
	return codec.Object
}

const (
	asTable = ";as=Table;g=meta.k8s.io;v=v1"
	asPOM   = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asPOML  = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// TestFormatFollowsTheApiserver has what the recordings do not: every verb and style, CBOR on and off, lenient
// lists of metadata.
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
		{"list nothing", Request{}, Endpoint{Verb: List}, want{format: json}},
		{"watch nothing", Request{}, Endpoint{Verb: Watch}, want{format: json}},
		{"custom nothing", Request{}, Endpoint{Style: codec.Unstructured}, want{format: json}},
		{"get yaml", Request{Accept: "application/yaml"}, Endpoint{}, want{format: yaml, errors: yaml}},
		{"get proto", Request{Accept: codec.MediaProtobuf}, Endpoint{}, want{format: proto, errors: proto}},
		{"watch proto", Request{Accept: codec.MediaProtobuf}, Endpoint{Verb: Watch}, want{format: proto, errors: proto}},
		{"watch proto stream", Request{Accept: codec.MediaProtobuf + ";stream=watch"}, Endpoint{Verb: Watch}, want{format: proto, errors: proto}},
		{"get cbor offered", Request{Accept: codec.MediaCBOR}, Endpoint{CBOR: true}, want{format: cbor, errors: cbor}},
		{"custom cbor offered", Request{Accept: codec.MediaCBOR}, Endpoint{CBOR: true, Style: codec.Unstructured}, want{format: cbor, errors: cbor}},
		{"watch cbor offered", Request{Accept: codec.MediaCBOR}, Endpoint{CBOR: true, Verb: Watch}, want{format: cbor, errors: cbor}},
		{"get cbor not offered", Request{Accept: codec.MediaCBOR}, Endpoint{}, want{refused: true, errors: indented}},
		{"custom cbor not offered", Request{Accept: codec.MediaCBOR}, Endpoint{Style: codec.Unstructured}, want{refused: true, errors: indented}},
		{"get cbor refused lists cbor", Request{Accept: "text/html"}, Endpoint{CBOR: true}, want{refused: true, errors: indented}},
		{"list cbor refused lists cbor", Request{Accept: "text/html"}, Endpoint{CBOR: true, Verb: List}, want{refused: true, errors: indented}},
		{"cbor falls to json", Request{Accept: "application/cbor, application/json;q=0.9"}, Endpoint{}, want{format: json}},
		{"cbor before json", Request{Accept: "application/cbor, application/json;q=0.9"}, Endpoint{CBOR: true}, want{format: cbor, errors: cbor}},
		{"watch yaml", Request{Accept: codec.MediaYAML}, Endpoint{Verb: Watch}, want{refused: true, errors: yaml}},
		{"watch yaml custom", Request{Accept: codec.MediaYAML}, Endpoint{Verb: Watch, Style: codec.Unstructured}, want{refused: true, errors: yaml}},
		{"watch yaml then json", Request{Accept: "application/yaml,application/json"}, Endpoint{Verb: Watch}, want{refused: true, errors: yaml}},
		{"watch yaml cbor", Request{Accept: codec.MediaYAML}, Endpoint{Verb: Watch, CBOR: true}, want{refused: true, errors: yaml}},
		{"range typed", Request{Accept: "application/*"}, Endpoint{}, want{refused: true, errors: json}},
		{"range custom", Request{Accept: "application/*"}, Endpoint{Style: codec.Unstructured}, want{format: json}},
		{"star custom", Request{Accept: "*"}, Endpoint{Style: codec.Unstructured}, want{format: json}},
		{"range then specific custom", Request{Accept: "application/*;q=0.9, application/yaml;q=0.1"}, Endpoint{Style: codec.Unstructured}, want{format: yaml, errors: yaml}},
		{"proto custom", Request{Accept: codec.MediaProtobuf}, Endpoint{Style: codec.Unstructured}, want{refused: true, errors: proto}},
		{"proto then json custom", Request{Accept: "application/vnd.kubernetes.protobuf,application/json"}, Endpoint{Style: codec.Unstructured}, want{format: json, errors: proto}},
		{"proto metadata custom", Request{Accept: codec.MediaProtobuf + asPOM}, Endpoint{Style: codec.Unstructured}, want{format: codec.Format{Encoding: codec.Protobuf, Shape: codec.Metadata}, errors: indented}},
		{"proto metadata custom watch", Request{Accept: codec.MediaProtobuf + asPOM}, Endpoint{Style: codec.Unstructured, Verb: Watch}, want{format: codec.Format{Encoding: codec.Protobuf, Shape: codec.Metadata}, errors: indented}},
		{"table", Request{Accept: codec.MediaJSON + asTable}, Endpoint{Verb: List}, want{format: codec.Format{Shape: codec.Table}, errors: indented}},
		{"table yaml", Request{Accept: codec.MediaYAML + asTable}, Endpoint{Verb: List}, want{format: codec.Format{Encoding: codec.YAML, Shape: codec.Table}, errors: indented}},
		{"table yaml watch", Request{Accept: codec.MediaYAML + asTable}, Endpoint{Verb: Watch}, want{refused: true, errors: indented}},
		{"table yaml watch bad include", Request{Accept: codec.MediaYAML + asTable, IncludeObject: "x"}, Endpoint{Verb: Watch}, want{refused: true, errors: indented}},
		{"table proto", Request{Accept: codec.MediaProtobuf + asTable}, Endpoint{Verb: List}, want{refused: true, errors: indented}},
		{"table any", Request{Accept: "*/*" + asTable}, Endpoint{Verb: List}, want{format: codec.Format{Shape: codec.Table}, errors: indented}},
		{"table quoted", Request{Accept: `application/json;as="Table";g=meta.k8s.io;v=v1`}, Endpoint{Verb: List}, want{refused: true, errors: indented}},
		{"table v2", Request{Accept: "application/json;as=Table;g=meta.k8s.io;v=v2"}, Endpoint{}, want{refused: true, errors: indented}},
		{"table other group", Request{Accept: "application/json;as=Table;g=x;v=v1"}, Endpoint{}, want{refused: true, errors: indented}},
		{"table no group", Request{Accept: "application/json;as=Table"}, Endpoint{}, want{refused: true, errors: indented}},
		{"only group", Request{Accept: "application/json;g=meta.k8s.io"}, Endpoint{}, want{refused: true, errors: indented}},
		{"only version", Request{Accept: "application/json;v=v1"}, Endpoint{}, want{refused: true, errors: indented}},
		{"empty as is dropped", Request{Accept: "application/json;as="}, Endpoint{}, want{format: json}},
		{"status as", Request{Accept: "application/json;as=Status;g=meta.k8s.io;v=v1"}, Endpoint{}, want{refused: true, errors: indented}},
		{"table v1beta1", Request{Accept: "application/json;as=Table;g=meta.k8s.io;v=v1beta1"}, Endpoint{}, want{format: codec.Format{Shape: codec.Table, MetaVersion: codec.MetaV1beta1}, errors: indented}},
		{"table include none", Request{Accept: codec.MediaJSON + asTable, IncludeObject: "None"}, Endpoint{}, want{format: codec.Format{Shape: codec.Table, Include: codec.IncludeNone}, errors: indented}},
		{"table include object", Request{Accept: codec.MediaJSON + asTable, IncludeObject: "Object"}, Endpoint{}, want{format: codec.Format{Shape: codec.Table, Include: codec.IncludeObject}, errors: indented}},
		{"table include metadata", Request{Accept: codec.MediaJSON + asTable, IncludeObject: "Metadata"}, Endpoint{}, want{format: codec.Format{Shape: codec.Table}, errors: indented}},
		{"include without table", Request{Accept: codec.MediaJSON, IncludeObject: "Bogus"}, Endpoint{}, want{format: json}},
		{"include with metadata", Request{Accept: codec.MediaJSON + asPOM, IncludeObject: "Object"}, Endpoint{}, want{format: metadata, errors: indented}},
		{"metadata get", Request{Accept: codec.MediaJSON + asPOM}, Endpoint{}, want{format: metadata, errors: indented}},
		{"metadata watch", Request{Accept: codec.MediaJSON + asPOM}, Endpoint{Verb: Watch}, want{format: metadata, errors: indented}},
		{"metadata list lenient", Request{Accept: codec.MediaJSON + asPOM}, Endpoint{Verb: List}, want{format: metadata, errors: indented}},
		{"metadata list strict", Request{Accept: codec.MediaJSON + asPOM}, Endpoint{Verb: List, Strict: true}, want{refused: true, errors: indented}},
		{"metadata list strict custom", Request{Accept: codec.MediaJSON + asPOM}, Endpoint{Verb: List, Strict: true, Style: codec.Unstructured}, want{refused: true, errors: indented}},
		{"metadata list strict events", Request{Accept: codec.MediaJSON + asPOM}, Endpoint{Verb: List, Strict: true}, want{refused: true, errors: indented}},
		{"metadata list strict rbac", Request{Accept: codec.MediaJSON + asPOM}, Endpoint{Verb: List, Strict: true}, want{refused: true, errors: indented}},
		{"metadatalist list", Request{Accept: codec.MediaJSON + asPOML}, Endpoint{Verb: List, Strict: true}, want{format: metadata, errors: indented}},
		{"metadatalist get", Request{Accept: codec.MediaJSON + asPOML}, Endpoint{}, want{refused: true, errors: indented}},
		{"metadatalist get custom", Request{Accept: codec.MediaJSON + asPOML}, Endpoint{Style: codec.Unstructured}, want{refused: true, errors: indented}},
		{"metadatalist watch", Request{Accept: codec.MediaJSON + asPOML}, Endpoint{Verb: Watch}, want{refused: true, errors: indented}},
		{"metadata v1beta1", Request{Accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1"}, Endpoint{Verb: List},
			want{format: codec.Format{Shape: codec.Metadata, MetaVersion: codec.MetaV1beta1}, errors: indented}},
		{"metadata yaml", Request{Accept: codec.MediaYAML + asPOML}, Endpoint{Verb: List}, want{format: codec.Format{Encoding: codec.YAML, Shape: codec.Metadata}, errors: indented}},
		{"metadata then json", Request{Accept: codec.MediaJSON + asPOM + "," + codec.MediaJSON}, Endpoint{}, want{format: metadata, errors: json}},
		{"stream on get", Request{Accept: "application/json;stream=watch"}, Endpoint{}, want{format: json}},
		{"stream on yaml", Request{Accept: "application/yaml;stream=watch"}, Endpoint{}, want{refused: true, errors: indented}},
		{"stream foo", Request{Accept: "application/json;stream=foo"}, Endpoint{}, want{refused: true, errors: indented}},
		{"stream foo then yaml", Request{Accept: "application/json;stream=foo, application/yaml"}, Endpoint{}, want{format: yaml, errors: yaml}},
		{"sv v1", Request{Accept: "application/json;sv=v1"}, Endpoint{}, want{format: json, errors: indented}},
		{"sv v2", Request{Accept: "application/json;sv=v2"}, Endpoint{}, want{refused: true, errors: indented}},
		{"pretty accept", Request{Accept: "application/json;pretty=1"}, Endpoint{}, want{format: indented, errors: indented}},
		{"pretty true is not 1", Request{Accept: "application/json;pretty=true"}, Endpoint{}, want{format: json}},
		{"pretty on watch", Request{Accept: "application/json;pretty=1", Pretty: "true", UserAgent: "curl/8"}, Endpoint{Verb: Watch}, want{format: json, errors: indented}},
		{"pretty on yaml", Request{Accept: "application/yaml;pretty=1"}, Endpoint{}, want{format: yaml, errors: yaml}},
		{"pretty curl", Request{UserAgent: "curl/8.1"}, Endpoint{}, want{format: indented, errors: indented}},
		{"pretty wget", Request{UserAgent: "Wget/1"}, Endpoint{}, want{format: indented, errors: indented}},
		{"pretty browser", Request{UserAgent: "Mozilla/5.0 (X11)"}, Endpoint{}, want{format: indented, errors: indented}},
		{"pretty old browser", Request{UserAgent: "Mozilla/4.0"}, Endpoint{}, want{format: json}},
		{"pretty capital curl", Request{UserAgent: "Curl/8"}, Endpoint{}, want{format: json}},
		{"pretty curl off", Request{UserAgent: "curl/8", Pretty: "false"}, Endpoint{}, want{format: json}},
		{"pretty curl nonsense", Request{UserAgent: "curl/8", Pretty: "yes"}, Endpoint{}, want{format: json}},
		{"pretty T", Request{Pretty: "T"}, Endpoint{}, want{format: indented, errors: indented}},
		{"pretty accept beats query", Request{Accept: "application/json;pretty=1", Pretty: "false"}, Endpoint{}, want{format: indented, errors: indented}},
		{"pretty table", Request{Accept: codec.MediaJSON + asTable, Pretty: "1"}, Endpoint{}, want{format: codec.Format{Shape: codec.Table, Pretty: true}, errors: indented}},
		{"charset", Request{Accept: "application/json;charset=utf-8"}, Endpoint{}, want{format: json}},
		{"capitals", Request{Accept: "Application/JSON"}, Endpoint{}, want{refused: true, errors: indented}},
		{"capitals custom", Request{Accept: "Application/JSON"}, Endpoint{Style: codec.Unstructured}, want{refused: true, errors: indented}},
		{"tab is not trimmed", Request{Accept: "\tapplication/json"}, Endpoint{}, want{refused: true, errors: indented}},
		{"spaces are trimmed", Request{Accept: "  application/json  ;  q=1 , text/html"}, Endpoint{}, want{format: json}},
		{"q ignored by the router", Request{Accept: "text/html, */*;q=0"}, Endpoint{}, want{format: json}},
		{"q zero", Request{Accept: "application/json;q=0"}, Endpoint{}, want{format: json}},
		{"q above one", Request{Accept: "application/json;q=1.5,application/yaml"}, Endpoint{}, want{format: json}},
		{"q nonsense", Request{Accept: "application/json;q=abc,application/yaml;q=0.1"}, Endpoint{}, want{format: yaml, errors: yaml}},
		{"q order", Request{Accept: "application/json;q=0.1,application/yaml;q=0.2"}, Endpoint{}, want{format: yaml, errors: yaml}},
		{"wildcard first", Request{Accept: "*/*, application/yaml"}, Endpoint{}, want{format: yaml, errors: yaml}},
		{"two equals in a parameter", Request{Accept: "application/json;stream=foo=bar"}, Endpoint{}, want{format: json}},
		{"half star", Request{Accept: "*/json"}, Endpoint{}, want{refused: true, errors: indented}},
		{"half star custom", Request{Accept: "*/json"}, Endpoint{Style: codec.Unstructured}, want{refused: true, errors: indented}},
		{"only commas", Request{Accept: ",,,"}, Endpoint{}, want{refused: true, errors: indented}},
		{"only commas custom", Request{Accept: ",,,"}, Endpoint{Style: codec.Unstructured}, want{refused: true, errors: indented}},
		{"three parts", Request{Accept: "application/json/x"}, Endpoint{Style: codec.Unstructured}, want{refused: true, errors: indented}},
		{"cbor-seq get", Request{Accept: "application/cbor-seq"}, Endpoint{CBOR: true}, want{refused: true, errors: indented}},
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

// FuzzChoose compares the choice of a clause, for objects and for errors, with the apiserver's code.
func FuzzChoose(f *testing.F) {
	for _, a := range commonAccepts {
		f.Add(a, true, true)
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

func BenchmarkFormat(b *testing.B) {
	for _, row := range []struct{ name, accept string }{
		{"client-go", "application/vnd.kubernetes.protobuf,application/json"},
		{"kubectl", commonAccepts[12]},
		{"uncommon", "application/json;q=0.3, application/vnd.kubernetes.protobuf;q=0.4"},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Format(Request{Accept: row.accept, UserAgent: "x"}, Endpoint{Verb: List})
			}
		})
	}
}
