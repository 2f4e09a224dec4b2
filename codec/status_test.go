package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// TestCatalogue compares each constructor's compact JSON with what the apiserver sent.
func TestCatalogue(t *testing.T) {
	cms := GroupResource{"", "configmaps"}
	foos := GroupResource{"ex.io", "foos"}
	for _, row := range []struct {
		name string
		s    *Status
		want string
	}{
		{"not found", NewNotFound(cms, "nope"), `"message":"configmaps \"nope\" not found","reason":"NotFound","details":{"name":"nope","kind":"configmaps"},"code":404}`},
		{"not found custom", NewNotFound(foos, "nope"), `"message":"foos.ex.io \"nope\" not found","reason":"NotFound","details":{"name":"nope","group":"ex.io","kind":"foos"},"code":404}`},
		{"forbidden path", NewForbiddenPath(`User "bob" cannot get path "/metrics"`), `"message":"forbidden: User \"bob\" cannot get path \"/metrics\"","reason":"Forbidden","details":{},"code":403}`},
		{"escaped", NewBadRequest("unable to parse requirement: <nil>"), `"message":"unable to parse requirement: \u003cnil\u003e","reason":"BadRequest","code":400}`},
		{"expired list", NewListExpired(), `"message":"The resourceVersion for the provided list is too old.","reason":"Expired","code":410}`},
		{"expired watch", NewWatchExpired(1, 1183), `"message":"too old resource version: 1 (1183)","reason":"Expired","code":410}`},
		{"unavailable", NewServiceUnavailable("x"), `"message":"x","reason":"ServiceUnavailable","code":503}`},
		{"many", NewTooManyRequests("storage is (re)initializing", 1), `"message":"storage is (re)initializing","reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` + row.want + "\n"
			if got := string(row.s.Append(nil, Format{})); got != want {
				t.Errorf("got  %swant %s", got, want)
			}
		})
	}
}

// parseStatus reads any recorded Status back into ours.
func parseStatus(t *testing.T, data []byte) *Status {
	var s metav1.Status
	if bytes.HasPrefix(data, []byte("k8s\x00")) {
		var u runtime.Unknown
		if err := errors.Join(u.Unmarshal(data[4:]), s.Unmarshal(u.Raw)); err != nil {
			t.Fatal(err)
		}
	} else if err := yaml.Unmarshal(data, &s); err != nil {
		t.Fatal(err, string(data))
	}
	return fromMeta(&s)
}

func fromMeta(s *metav1.Status) *Status {
	out := &Status{Message: s.Message, Reason: string(s.Reason), Code: int(s.Code),
		Metadata: ListMeta{ResourceVersion: s.ResourceVersion, Continue: s.Continue, Remaining: s.RemainingItemCount}}
	if d := s.Details; d != nil {
		out.Details = &Details{Name: d.Name, Group: d.Group, Kind: d.Kind, UID: string(d.UID), RetryAfterSeconds: int(d.RetryAfterSeconds)}
		for _, c := range d.Causes {
			out.Details.Causes = append(out.Details.Causes, Cause{string(c.Type), c.Message, c.Field})
		}
	}
	return out
}

// TestStatusRecorded reads every recorded error body that is not CBOR and writes it again.
func TestStatusRecorded(t *testing.T) {
	for _, x := range readExchanges(t, "status.jsonl") {
		body, ct := x.body(), x.header(x.RespHeaders, "Content-Type")
		var f Format
		switch {
		case ct == MediaProtobuf:
			f.Encoding = Protobuf
		case ct == MediaYAML:
			f.Encoding = YAML
		case ct == MediaJSON:
			f.Pretty = bytes.HasPrefix(body, []byte("{\n"))
		default:
			continue
		}
		s := parseStatus(t, body)
		if got := s.Append([]byte("x"), f); string(got) != "x"+string(body) {
			t.Errorf("%s %s: got\n%s\nwant\n%s", x.Note, x.Path, got, body)
		}
		if after := x.header(x.RespHeaders, "Retry-After"); after != "" && after != strconv.Itoa(s.RetryAfter()) {
			t.Errorf("%s: retry after %d, want %s", x.Path, s.RetryAfter(), after)
		}
	}
}

// TestStatusOracle compares with apimachinery's serializers.
func TestStatusOracle(t *testing.T) {
	n := int64(7)
	full := &Status{
		Metadata: ListMeta{ResourceVersion: "12", Continue: "a<b", Remaining: &n},
		Message:  "bad \u2028 <&> \"x\"\n", Reason: "R", Code: 422,
		Details: &Details{Name: "n", Group: "g", Kind: "k", UID: "u", RetryAfterSeconds: 3,
			Causes: []Cause{{}, {"r", "m", "f"}}},
	}
	for _, s := range []*Status{full, {}, {Details: &Details{}}, {Code: 200, Message: strings.Repeat("é", 300)}} {
		want := &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure",
			ListMeta: metav1.ListMeta{ResourceVersion: s.Metadata.ResourceVersion, Continue: s.Metadata.Continue, RemainingItemCount: s.Metadata.Remaining},
			Message:  s.Message, Reason: metav1.StatusReason(s.Reason), Code: int32(s.Code)}
		if d := s.Details; d != nil {
			want.Details = &metav1.StatusDetails{Name: d.Name, Group: d.Group, Kind: d.Kind, UID: types.UID(d.UID), RetryAfterSeconds: int32(d.RetryAfterSeconds)}
			for _, c := range d.Causes {
				want.Details.Causes = append(want.Details.Causes, metav1.StatusCause{Type: metav1.CauseType(c.Reason), Message: c.Message, Field: c.Field})
			}
		}
		check := func(f Format, enc runtime.Encoder) {
			t.Helper()
			var b bytes.Buffer
			if err := enc.Encode(want, &b); err != nil {
				t.Fatal(err)
			}
			if got := s.Append(nil, f); !bytes.Equal(got, b.Bytes()) {
				t.Errorf("%+v: got\n%q\nwant\n%q", f, got, b.Bytes())
			}
		}
		check(Format{}, jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, nil, nil, jsonserializer.SerializerOptions{}))
		check(Format{Pretty: true}, jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, nil, nil, jsonserializer.SerializerOptions{Pretty: true}))
		check(Format{Encoding: Protobuf}, protobuf.NewSerializer(nil, nil))
	}
}

func FuzzIndent(f *testing.F) {
	f.Add([]byte(`{"a":[],"b":{},"c":[1,{"d":"x\"{[,:\\"}],"e":""}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var compact, want bytes.Buffer
		if json.Compact(&compact, b) != nil {
			return
		}
		if err := json.Indent(&want, compact.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got := appendIndented(nil, compact.Bytes(), 0); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("got\n%s\nwant\n%s", got, want.Bytes())
		}
	})
}

func TestStatusIsAnError(t *testing.T) {
	var err error = NewTooManyRequests("later", 1)
	var s *Status
	if !errors.As(err, &s) || s.RetryAfter() != 1 || err.Error() != "later" {
		t.Errorf("%v %v", err, s)
	}
	if NewBadRequest("no").RetryAfter() != 0 {
		t.Error("seconds out of nowhere")
	}
}
