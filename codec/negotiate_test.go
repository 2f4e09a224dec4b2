package codec

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
)

// TestNegotiateRecorded compares every recorded answer with the decision for its request.
func TestNegotiateRecorded(t *testing.T) {
	for i, x := range readExchanges(t, "reads.jsonl") {
		t.Run(fmt.Sprintf("%d %s", i, x.Note), func(t *testing.T) {
			d := Negotiate(x.client(t), x.target(t))
			if x.Status == http.StatusNotFound {
				if ct := d.Errors.ContentType(false); ct != x.header(x.RespHeaders, "Content-Type") {
					t.Errorf("errors as %s", ct)
				}
				return
			}
			if x.Status != http.StatusOK {
				checkRefusal(t, x, d)
				return
			}
			if d.Refusal != nil {
				t.Fatalf("%s %q: refused: %v", x.Path, x.client(t).Accept, d.Refusal)
			}
			checkFormat(t, x, d.Format)
		})
	}
}

func checkRefusal(t *testing.T, x *exchange, d Decision) {
	if d.Refusal == nil {
		t.Fatalf("%s %q: not refused, but %+v", x.Path, x.client(t).Accept, d.Format)
	}
	if d.Refusal.Code != x.Status {
		t.Errorf("code %d, want %d", d.Refusal.Code, x.Status)
	}
	if ct := d.Errors.ContentType(false); ct != x.header(x.RespHeaders, "Content-Type") {
		t.Errorf("content type %s", ct)
	}
	if got := d.Refusal.Append(nil, d.Errors); !bytes.Equal(got, x.body()) && d.Errors.Encoding != CBOR {
		t.Errorf("body\n%s\nwant\n%s", got, x.body())
	}
}

func checkFormat(t *testing.T, x *exchange, f Format) {
	watch := x.target(t).Verb == Watch
	if got, want := f.ContentType(watch), x.header(x.RespHeaders, "Content-Type"); got != want {
		t.Errorf("%s %q: content type %s, want %s", x.Path, x.client(t).Accept, got, want)
	}
	b := x.body()
	if bytes.Contains(b, []byte("ERROR")) {
		return
	}
	if f.Shape == MetadataList {
		if len(b) != 0 {
			t.Errorf("a stream that should be empty")
		}
		return
	}
	if got := shapeOf(b); got != f.Shape && f.Include != IncludeMetadata && !(got == Metadata && f.Shape == Table) {
		t.Errorf("shape %v, want %v", f.Shape, got)
	}
	if f.Shape != Object && f.Encoding != CBOR && !bytes.Contains(b, []byte(f.MetaVersion.String())) {
		t.Errorf("version %v", f.MetaVersion)
	}
	if pretty := bytes.HasPrefix(b, []byte("{\n")); pretty != f.Pretty {
		t.Errorf("pretty %v, want %v", f.Pretty, pretty)
	}
}

const (
	asTable = ";as=Table;g=meta.k8s.io;v=v1"
	asPOM   = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asPOML  = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// TestNegotiateTable holds what the recordings do not: every verb and style, both gates, leniency.
func TestNegotiateTable(t *testing.T) {
	type want struct {
		format  Format
		code    int // of the refusal
		message string
		late    bool
		errors  Format
	}
	json, yaml, proto, cbor := Format{}, Format{Encoding: YAML}, Format{Encoding: Protobuf}, Format{Encoding: CBOR}
	indented := Format{Pretty: true}
	notStage2 := "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
	notStream := "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
	stage1 := "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
	metadata := Format{Shape: Metadata}
	for _, row := range []struct {
		name   string
		client Client
		target Target
		want   want
	}{
		{"get nothing", Client{}, Target{}, want{format: json}},
		{"list nothing", Client{}, Target{Verb: List}, want{format: json}},
		{"watch nothing", Client{}, Target{Verb: Watch}, want{format: json}},
		{"custom nothing", Client{}, Target{Style: Unstructured}, want{format: json}},
		{"get yaml", Client{Accept: "application/yaml"}, Target{}, want{format: yaml, errors: yaml}},
		{"get proto", Client{Accept: MediaProtobuf}, Target{}, want{format: proto, errors: proto}},
		{"watch proto", Client{Accept: MediaProtobuf}, Target{Verb: Watch}, want{format: proto, errors: proto}},
		{"watch proto stream", Client{Accept: MediaProtobuf + ";stream=watch"}, Target{Verb: Watch}, want{format: proto, errors: proto}},
		{"get cbor offered", Client{Accept: MediaCBOR}, Target{CBOR: true}, want{format: cbor, errors: cbor}},
		{"custom cbor offered", Client{Accept: MediaCBOR}, Target{CBOR: true, Style: Unstructured}, want{format: cbor, errors: cbor}},
		{"watch cbor offered", Client{Accept: MediaCBOR}, Target{CBOR: true, Verb: Watch}, want{format: cbor, errors: cbor}},
		{"get cbor not offered", Client{Accept: MediaCBOR}, Target{}, want{code: 406, message: stage1, errors: indented}},
		{"custom cbor not offered", Client{Accept: MediaCBOR}, Target{Style: Unstructured}, want{code: 406, message: notStage2, errors: indented}},
		{"get cbor refused lists cbor", Client{Accept: "text/html"}, Target{CBOR: true}, want{code: 406, message: stage1 + ", application/cbor", errors: indented}},
		{"list cbor refused lists cbor", Client{Accept: "text/html"}, Target{CBOR: true, Verb: List}, want{code: 406,
			message: stage1 + ", application/cbor, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch, application/cbor-seq", errors: indented}},
		{"cbor falls to json", Client{Accept: "application/cbor, application/json;q=0.9"}, Target{}, want{format: json}},
		{"cbor before json", Client{Accept: "application/cbor, application/json;q=0.9"}, Target{CBOR: true}, want{format: cbor, errors: cbor}},
		{"watch yaml", Client{Accept: MediaYAML}, Target{Verb: Watch}, want{code: 406, message: notStream, late: true, errors: yaml}},
		{"watch yaml custom", Client{Accept: MediaYAML}, Target{Verb: Watch, Style: Unstructured}, want{code: 406, message: notStream, late: true, errors: yaml}},
		{"watch yaml then json", Client{Accept: "application/yaml,application/json"}, Target{Verb: Watch}, want{code: 406, message: notStream, late: true, errors: yaml}},
		{"watch yaml cbor", Client{Accept: MediaYAML}, Target{Verb: Watch, CBOR: true}, want{code: 406, message: notStream + ", application/cbor-seq", late: true, errors: yaml}},
		{"range typed", Client{Accept: "application/*"}, Target{}, want{code: 406, message: stage1, errors: json}},
		{"range custom", Client{Accept: "application/*"}, Target{Style: Unstructured}, want{format: json}},
		{"star custom", Client{Accept: "*"}, Target{Style: Unstructured}, want{format: json}},
		{"range then specific custom", Client{Accept: "application/*;q=0.9, application/yaml;q=0.1"}, Target{Style: Unstructured}, want{format: yaml, errors: yaml}},
		{"proto custom", Client{Accept: MediaProtobuf}, Target{Style: Unstructured}, want{code: 406, message: notStage2, errors: proto}},
		{"proto then json custom", Client{Accept: "application/vnd.kubernetes.protobuf,application/json"}, Target{Style: Unstructured}, want{format: json, errors: proto}},
		{"proto metadata custom", Client{Accept: MediaProtobuf + asPOM}, Target{Style: Unstructured}, want{format: Format{Encoding: Protobuf, Shape: Metadata}, errors: indented}},
		{"proto metadata custom watch", Client{Accept: MediaProtobuf + asPOM}, Target{Style: Unstructured, Verb: Watch}, want{format: Format{Encoding: Protobuf, Shape: Metadata}, errors: indented}},
		{"table", Client{Accept: MediaJSON + asTable}, Target{Verb: List}, want{format: Format{Shape: Table}, errors: indented}},
		{"table yaml", Client{Accept: MediaYAML + asTable}, Target{Verb: List}, want{format: Format{Encoding: YAML, Shape: Table}, errors: indented}},
		{"table yaml watch", Client{Accept: MediaYAML + asTable}, Target{Verb: Watch}, want{code: 406, message: notStream, late: true, errors: indented}},
		{"table yaml watch bad include", Client{Accept: MediaYAML + asTable, IncludeObject: "x"}, Target{Verb: Watch}, want{code: 400,
			message: "Unable to convert to Table as requested: includeObject: Invalid value: \"x\": must be 'Metadata', 'Object', 'None', or empty", late: true, errors: indented}},
		{"table proto", Client{Accept: MediaProtobuf + asTable}, Target{Verb: List}, want{code: 406, message: notStage2, errors: indented}},
		{"table any", Client{Accept: "*/*" + asTable}, Target{Verb: List}, want{format: Format{Shape: Table}, errors: indented}},
		{"table quoted", Client{Accept: `application/json;as="Table";g=meta.k8s.io;v=v1`}, Target{Verb: List}, want{code: 406, message: notStage2, errors: indented}},
		{"table v2", Client{Accept: "application/json;as=Table;g=meta.k8s.io;v=v2"}, Target{}, want{code: 406, message: notStage2, errors: indented}},
		{"table other group", Client{Accept: "application/json;as=Table;g=x;v=v1"}, Target{}, want{code: 406, message: notStage2, errors: indented}},
		{"table no group", Client{Accept: "application/json;as=Table"}, Target{}, want{code: 406, message: notStage2, errors: indented}},
		{"only group", Client{Accept: "application/json;g=meta.k8s.io"}, Target{}, want{code: 406, message: notStage2, errors: indented}},
		{"only version", Client{Accept: "application/json;v=v1"}, Target{}, want{code: 406, message: notStage2, errors: indented}},
		{"empty as is dropped", Client{Accept: "application/json;as="}, Target{}, want{format: json}},
		{"status as", Client{Accept: "application/json;as=Status;g=meta.k8s.io;v=v1"}, Target{}, want{code: 406, message: notStage2, errors: indented}},
		{"table v1beta1", Client{Accept: "application/json;as=Table;g=meta.k8s.io;v=v1beta1"}, Target{}, want{format: Format{Shape: Table, MetaVersion: MetaV1beta1}, errors: indented}},
		{"table include none", Client{Accept: MediaJSON + asTable, IncludeObject: "None"}, Target{}, want{format: Format{Shape: Table, Include: IncludeNone}, errors: indented}},
		{"table include object", Client{Accept: MediaJSON + asTable, IncludeObject: "Object"}, Target{}, want{format: Format{Shape: Table, Include: IncludeObject}, errors: indented}},
		{"table include metadata", Client{Accept: MediaJSON + asTable, IncludeObject: "Metadata"}, Target{}, want{format: Format{Shape: Table}, errors: indented}},
		{"include without table", Client{Accept: MediaJSON, IncludeObject: "Bogus"}, Target{}, want{format: json}},
		{"include with metadata", Client{Accept: MediaJSON + asPOM, IncludeObject: "Object"}, Target{}, want{format: metadata, errors: indented}},
		{"metadata get", Client{Accept: MediaJSON + asPOM}, Target{}, want{format: metadata, errors: indented}},
		{"metadata watch", Client{Accept: MediaJSON + asPOM}, Target{Verb: Watch}, want{format: metadata, errors: indented}},
		{"metadata list lenient", Client{Accept: MediaJSON + asPOM}, Target{Verb: List}, want{format: metadata, errors: indented}},
		{"metadata list strict", Client{Accept: MediaJSON + asPOM}, Target{Verb: List, Strict: true, Group: "apps", Kind: "Deployment"}, want{code: 406, late: true, errors: indented,
			message: "you requested PartialObjectMetadata, but the requested object is a list (*apps.DeploymentList)"}},
		{"metadata list strict custom", Client{Accept: MediaJSON + asPOM}, Target{Verb: List, Strict: true, Style: Unstructured, Group: "ex.io", Kind: "Foo"}, want{code: 406, late: true, errors: indented,
			message: "you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)"}},
		{"metadata list strict events", Client{Accept: MediaJSON + asPOM}, Target{Verb: List, Strict: true, Group: "events.k8s.io", Kind: "Event"}, want{code: 406, late: true, errors: indented,
			message: "you requested PartialObjectMetadata, but the requested object is a list (*core.EventList)"}},
		{"metadata list strict rbac", Client{Accept: MediaJSON + asPOM}, Target{Verb: List, Strict: true, Group: "rbac.authorization.k8s.io", Kind: "Role"}, want{code: 406, late: true, errors: indented,
			message: "you requested PartialObjectMetadata, but the requested object is a list (*rbac.RoleList)"}},
		{"metadatalist list", Client{Accept: MediaJSON + asPOML}, Target{Verb: List, Strict: true}, want{format: metadata, errors: indented}},
		{"metadatalist get", Client{Accept: MediaJSON + asPOML}, Target{Kind: "Pod"}, want{code: 406, late: true, errors: indented,
			message: "you requested PartialObjectMetadataList, but the requested object is not a list (*core.Pod)"}},
		{"metadatalist get custom", Client{Accept: MediaJSON + asPOML}, Target{Style: Unstructured}, want{code: 500, late: true, message: "content is not a list", errors: indented}},
		{"metadatalist watch", Client{Accept: MediaJSON + asPOML}, Target{Verb: Watch}, want{format: Format{Shape: MetadataList}, errors: indented}},
		{"metadata v1beta1", Client{Accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1"}, Target{Verb: List},
			want{format: Format{Shape: Metadata, MetaVersion: MetaV1beta1}, errors: indented}},
		{"metadata yaml", Client{Accept: MediaYAML + asPOML}, Target{Verb: List}, want{format: Format{Encoding: YAML, Shape: Metadata}, errors: indented}},
		{"metadata then json", Client{Accept: MediaJSON + asPOM + "," + MediaJSON}, Target{}, want{format: metadata, errors: json}},
		{"stream on get", Client{Accept: "application/json;stream=watch"}, Target{}, want{format: json}},
		{"stream on yaml", Client{Accept: "application/yaml;stream=watch"}, Target{}, want{code: 406, message: notStage2, errors: indented}},
		{"stream foo", Client{Accept: "application/json;stream=foo"}, Target{}, want{code: 406, message: notStage2, errors: indented}},
		{"stream foo then yaml", Client{Accept: "application/json;stream=foo, application/yaml"}, Target{}, want{format: yaml, errors: yaml}},
		{"sv v1", Client{Accept: "application/json;sv=v1"}, Target{}, want{format: json, errors: indented}},
		{"sv v2", Client{Accept: "application/json;sv=v2"}, Target{}, want{code: 406, message: notStage2, errors: indented}},
		{"pretty accept", Client{Accept: "application/json;pretty=1"}, Target{}, want{format: indented, errors: indented}},
		{"pretty true is not 1", Client{Accept: "application/json;pretty=true"}, Target{}, want{format: json}},
		{"pretty on watch", Client{Accept: "application/json;pretty=1", Pretty: "true", UserAgent: "curl/8"}, Target{Verb: Watch}, want{format: json, errors: indented}},
		{"pretty on yaml", Client{Accept: "application/yaml;pretty=1"}, Target{}, want{format: yaml, errors: yaml}},
		{"pretty curl", Client{UserAgent: "curl/8.1"}, Target{}, want{format: indented, errors: indented}},
		{"pretty wget", Client{UserAgent: "Wget/1"}, Target{}, want{format: indented, errors: indented}},
		{"pretty browser", Client{UserAgent: "Mozilla/5.0 (X11)"}, Target{}, want{format: indented, errors: indented}},
		{"pretty old browser", Client{UserAgent: "Mozilla/4.0"}, Target{}, want{format: json}},
		{"pretty capital curl", Client{UserAgent: "Curl/8"}, Target{}, want{format: json}},
		{"pretty curl off", Client{UserAgent: "curl/8", Pretty: "false"}, Target{}, want{format: json}},
		{"pretty curl nonsense", Client{UserAgent: "curl/8", Pretty: "yes"}, Target{}, want{format: json}},
		{"pretty T", Client{Pretty: "T"}, Target{}, want{format: indented, errors: indented}},
		{"pretty accept beats query", Client{Accept: "application/json;pretty=1", Pretty: "false"}, Target{}, want{format: indented, errors: indented}},
		{"pretty table", Client{Accept: MediaJSON + asTable, Pretty: "1"}, Target{}, want{format: Format{Shape: Table, Pretty: true}, errors: indented}},
		{"charset", Client{Accept: "application/json;charset=utf-8"}, Target{}, want{format: json}},
		{"capitals", Client{Accept: "Application/JSON"}, Target{}, want{code: 406, message: stage1, errors: indented}},
		{"capitals custom", Client{Accept: "Application/JSON"}, Target{Style: Unstructured}, want{code: 406, message: notStage2, errors: indented}},
		{"tab is not trimmed", Client{Accept: "\tapplication/json"}, Target{}, want{code: 406, message: stage1, errors: indented}},
		{"spaces are trimmed", Client{Accept: "  application/json  ;  q=1 , text/html"}, Target{}, want{format: json}},
		{"q ignored by the router", Client{Accept: "text/html, */*;q=0"}, Target{}, want{format: json}},
		{"q zero", Client{Accept: "application/json;q=0"}, Target{}, want{format: json}},
		{"q above one", Client{Accept: "application/json;q=1.5,application/yaml"}, Target{}, want{format: json}},
		{"q nonsense", Client{Accept: "application/json;q=abc,application/yaml;q=0.1"}, Target{}, want{format: yaml, errors: yaml}},
		{"q order", Client{Accept: "application/json;q=0.1,application/yaml;q=0.2"}, Target{}, want{format: yaml, errors: yaml}},
		{"wildcard first", Client{Accept: "*/*, application/yaml"}, Target{}, want{format: yaml, errors: yaml}},
		{"two equals in a parameter", Client{Accept: "application/json;stream=foo=bar"}, Target{}, want{format: json}},
		{"half star", Client{Accept: "*/json"}, Target{}, want{code: 406, message: stage1, errors: indented}},
		{"half star custom", Client{Accept: "*/json"}, Target{Style: Unstructured}, want{code: 406, message: notStage2, errors: indented}},
		{"only commas", Client{Accept: ",,,"}, Target{}, want{code: 406, message: stage1, errors: indented}},
		{"only commas custom", Client{Accept: ",,,"}, Target{Style: Unstructured}, want{code: 406, message: notStage2, errors: indented}},
		{"three parts", Client{Accept: "application/json/x"}, Target{Style: Unstructured}, want{code: 406, message: notStage2, errors: indented}},
		{"cbor-seq get", Client{Accept: "application/cbor-seq"}, Target{CBOR: true}, want{code: 406, message: stage1 + ", application/cbor", errors: indented}},
		{"cbor-seq watch", Client{Accept: "application/cbor-seq"}, Target{CBOR: true, Verb: Watch}, want{code: 406, message: notStage2 + ", application/cbor", errors: indented}},
		{"cbor-seq then json watch", Client{Accept: "application/cbor-seq,application/json"}, Target{CBOR: true, Verb: Watch}, want{format: json}},
		{"table cbor", Client{Accept: MediaCBOR + asTable}, Target{CBOR: true, Verb: List}, want{code: 406, message: notStage2 + ", application/cbor", errors: indented}},
		{"metadata cbor", Client{Accept: MediaCBOR + asPOM}, Target{CBOR: true}, want{format: Format{Encoding: CBOR, Shape: Metadata}, errors: indented}},
		{"kubectl", Client{Accept: commonAccepts[12]}, Target{Verb: List}, want{format: Format{Shape: Table}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := Negotiate(row.client, row.target)
			got := want{format: d.Format, late: d.Late, errors: d.Errors}
			if d.Refusal != nil {
				got.code, got.message = d.Refusal.Code, d.Refusal.Message
			}
			if got != row.want {
				t.Errorf("got\n%+v\nwant\n%+v", got, row.want)
			}
		})
	}
}

func TestErrorFormatFrontDoor(t *testing.T) {
	if f := ErrorFormat(Client{Accept: MediaCBOR}, false); f != (Format{Pretty: true}) {
		t.Errorf("401 for a CBOR client: %+v", f)
	}
}

func TestNegotiateAllocatesNothing(t *testing.T) {
	for _, accept := range append(commonAccepts, "") {
		c := Client{Accept: accept, UserAgent: "kubectl/v1.36"}
		target := Target{Verb: List, CBOR: true}
		if n := testing.AllocsPerRun(100, func() { Negotiate(c, target) }); n != 0 {
			t.Errorf("%q: %v allocations", accept, n)
		}
	}
}

// oracle is the apiserver's own second stage.
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
		{MediaType: MediaJSON, MediaTypeType: "application", MediaTypeSubType: "json", StreamSerializer: stream},
		{MediaType: MediaYAML, MediaTypeType: "application", MediaTypeSubType: "yaml"},
		{MediaType: MediaProtobuf, MediaTypeType: "application", MediaTypeSubType: "vnd.kubernetes.protobuf", StreamSerializer: stream},
	}
	if cbor {
		infos = append(infos, runtime.SerializerInfo{MediaType: MediaCBOR, MediaTypeType: "application", MediaTypeSubType: "cbor", StreamSerializer: stream})
	}
	return infos
}

// FuzzNegotiate compares the second stage and the errors' encoding with the apiserver's code.
func FuzzNegotiate(f *testing.F) {
	for _, a := range commonAccepts {
		f.Add(a, true, true)
	}
	f.Add("a/b;q=1,*/*;q=.5,application/*,application/yaml;q=0.1,text/*", false, true)
	f.Add(strings.Repeat("*/*;q=0.1,application/yaml;q=0.2,application/*,", 9), false, true)
	f.Fuzz(func(t *testing.T, accept string, unstructured, cbor bool) {
		target := Target{Verb: List, CBOR: cbor}
		if unstructured {
			target.Style = Unstructured
		}
		want, ok := negotiation.NegotiateMediaTypeOptions(accept, serializers(cbor), oracle{unstructured})
		got, gotOK := rulesFor(target).choose(accept)
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

func BenchmarkNegotiate(b *testing.B) {
	for _, row := range []struct{ name, accept string }{
		{"client-go", "application/vnd.kubernetes.protobuf,application/json"},
		{"kubectl", commonAccepts[12]},
		{"uncommon", "application/json;q=0.3, application/vnd.kubernetes.protobuf;q=0.4"},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Negotiate(Client{Accept: row.accept, UserAgent: "x"}, Target{Verb: List})
			}
		})
	}
}
