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

func mustInvalid(field, reason, text string) FieldError { return FieldError{field, reason, text} }

func numError(s string) error {
	_, err := strconv.ParseUint(s, 10, 64)
	return err
}

// TestCatalogue compares each constructor's compact JSON with what the apiserver sent.
func TestCatalogue(t *testing.T) {
	cms := GroupResource{"", "configmaps"}
	foos := GroupResource{"ex.io", "foos"}
	in := func(verb, sub, ns string, r GroupResource) string { return Denial("bob", verb, r, sub, ns) }
	for _, row := range []struct {
		name string
		s    *Status
		want string
	}{
		{"not found", NewNotFound(cms, "nope"), `"message":"configmaps \"nope\" not found","reason":"NotFound","details":{"name":"nope","kind":"configmaps"},"code":404}`},
		{"not found custom", NewNotFound(foos, "nope"), `"message":"foos.ex.io \"nope\" not found","reason":"NotFound","details":{"name":"nope","group":"ex.io","kind":"foos"},"code":404}`},
		{"unknown resource", NewUnknownResource(), `"message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}`},
		{"unauthorized", NewUnauthorized(), `"message":"Unauthorized","reason":"Unauthorized","code":401}`},
		{"forbidden list", NewForbidden(cms, "", in("list", "", "ns1", cms)), `"message":"configmaps is forbidden: User \"bob\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"ns1\"","reason":"Forbidden","details":{"kind":"configmaps"},"code":403}`},
		{"forbidden get", NewForbidden(cms, "cm0", in("get", "", "ns1", cms)), `"message":"configmaps \"cm0\" is forbidden: User \"bob\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"ns1\"","reason":"Forbidden","details":{"name":"cm0","kind":"configmaps"},"code":403}`},
		{"forbidden cluster", NewForbidden(GroupResource{"", "nodes"}, "", in("watch", "", "", GroupResource{"", "nodes"})), `"message":"nodes is forbidden: User \"bob\" cannot watch resource \"nodes\" in API group \"\" at the cluster scope","reason":"Forbidden","details":{"kind":"nodes"},"code":403}`},
		{"forbidden log", NewForbidden(GroupResource{"", "pods"}, "p", in("get", "log", "ns1", GroupResource{"", "pods"})), `"message":"pods \"p\" is forbidden: User \"bob\" cannot get resource \"pods/log\" in API group \"\" in the namespace \"ns1\"","reason":"Forbidden","details":{"name":"p","kind":"pods"},"code":403}`},
		{"forbidden path", NewForbiddenPath(`User "bob" cannot get path "/metrics"`), `"message":"forbidden: User \"bob\" cannot get path \"/metrics\"","reason":"Forbidden","details":{},"code":403}`},
		{"forbidden custom", NewForbidden(foos, "", in("list", "", "ns1", foos)), `"message":"foos.ex.io is forbidden: User \"bob\" cannot list resource \"foos\" in API group \"ex.io\" in the namespace \"ns1\"","reason":"Forbidden","details":{"group":"ex.io","kind":"foos"},"code":403}`},
		{"method", NewMethodNotAllowed(), `"message":"the server does not allow this method on the requested resource","reason":"MethodNotAllowed","details":{},"code":405}`},
		{"verb", NewVerbNotSupported(GroupResource{"", "componentstatuses"}, "watch"), `"message":"watch is not supported on resources of kind \"componentstatuses\"","reason":"MethodNotAllowed","details":{"kind":"componentstatuses"},"code":405}`},
		{"no verb", NewVerbNotSupported(foos, ""), `"message":" is not supported on resources of kind \"foos.ex.io\"","reason":"MethodNotAllowed","details":{"group":"ex.io","kind":"foos"},"code":405}`},
		{"media", NewUnsupportedMedia(false), `"message":"the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf","reason":"UnsupportedMediaType","code":415}`},
		{"rv list", NewInvalidVersion(List, "abc", numError("abc")), `"message":"invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax","reason":"BadRequest","code":400}`},
		{"rv list overflow", NewInvalidVersion(List, "18446744073709551616", numError("18446744073709551616")), `"message":"invalid resource version: resourceVersion: Invalid value: \"18446744073709551616\": strconv.ParseUint: parsing \"18446744073709551616\": value out of range","reason":"BadRequest","code":400}`},
		{"rv watch", NewInvalidVersion(Watch, "abc", numError("abc")), `"message":"resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax","code":500}`},
		{"escaped", NewBadRequest("unable to parse requirement: <nil>"), `"message":"unable to parse requirement: \u003cnil\u003e","reason":"BadRequest","code":400}`},
		{"too large", NewTooLarge(99999999, 675, 1), `"message":"Timeout: Too large resource version: 99999999, current: 675","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}`},
		{"too large uncached", NewTooLarge(99999999, 873, 0), `"message":"Timeout: Too large resource version: 99999999, current: 873","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]},"code":504}`},
		{"expired list", NewListExpired(), `"message":"The resourceVersion for the provided list is too old.","reason":"Expired","code":410}`},
		{"expired watch", NewWatchExpired(1, 1183), `"message":"too old resource version: 1 (1183)","reason":"Expired","code":410}`},
		{"options", NewInvalidOptions(mustInvalid("sendInitialEvents", FieldForbidden, "sendInitialEvents is forbidden for list")),
			`"message":"ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list","reason":"Invalid","details":{"group":"meta.k8s.io","kind":"ListOptions","causes":[{"reason":"FieldValueForbidden","message":"Forbidden: sendInitialEvents is forbidden for list","field":"sendInitialEvents"}]},"code":422}`},
		{"two options", NewInvalidOptions(
			mustInvalid("resourceVersionMatch", FieldForbidden, "resourceVersionMatch is forbidden unless resourceVersion is provided"),
			mustInvalid("resourceVersionMatch", FieldNotSupported, `"Bogus": supported values: "Exact", "NotOlderThan", ""`)),
			`"message":"ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, resourceVersionMatch: Unsupported value: \"Bogus\": supported values: \"Exact\", \"NotOlderThan\", \"\"]","reason":"Invalid","details":{"group":"meta.k8s.io","kind":"ListOptions","causes":[{"reason":"FieldValueForbidden","message":"Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided","field":"resourceVersionMatch"},{"reason":"FieldValueNotSupported","message":"Unsupported value: \"Bogus\": supported values: \"Exact\", \"NotOlderThan\", \"\"","field":"resourceVersionMatch"}]},"code":422}`},
		{"internal", NewInternalError("x"), `"message":"Internal error occurred: x","reason":"InternalError","details":{"causes":[{"message":"x"}]},"code":500}`},
		{"unavailable", NewServiceUnavailable("x"), `"message":"x","reason":"ServiceUnavailable","code":503}`},
		{"many", NewTooManyRequests("storage is (re)initializing", 1), `"message":"storage is (re)initializing","reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}`},
		{"forbidden without a reason", NewForbidden(cms, "x", ""), `"message":"configmaps \"x\" is forbidden: ","reason":"Forbidden","details":{"name":"x","kind":"configmaps"},"code":403}`},
		{"the same complaint twice", NewInvalidOptions(mustInvalid("f", FieldForbidden, "x"), mustInvalid("f", FieldForbidden, "x")),
			`"message":"ListOptions.meta.k8s.io \"\" is invalid: f: Forbidden: x","reason":"Invalid","details":{"group":"meta.k8s.io","kind":"ListOptions","causes":[{"reason":"FieldValueForbidden","message":"Forbidden: x","field":"f"},{"reason":"FieldValueForbidden","message":"Forbidden: x","field":"f"}]},"code":422}`},
		{"timeout", NewTimeout("x", 0), `"message":"Timeout: x","reason":"Timeout","details":{},"code":504}`},
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

// TestContinueExpired compares with the recorded answer.
func TestContinueExpired(t *testing.T) {
	const token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiY20xXHUwMDAwIn0"
	got := NewContinueExpired(token).Append(nil, Format{})
	for _, x := range readExchanges(t, "status.jsonl") {
		if x.Status == 410 && strings.Contains(x.Body, "continue") {
			equal(t, got, x.body())
			return
		}
	}
	t.Fatal("no recorded answer")
}

func TestStatusIsAnError(t *testing.T) {
	var err error = NewTooLarge(9, 3, 1)
	var s *Status
	if !errors.As(err, &s) || s.RetryAfter() != 1 || err.Error() != "Timeout: Too large resource version: 9, current: 3" {
		t.Errorf("%v %v", err, s)
	}
	if NewUnauthorized().RetryAfter() != 0 {
		t.Error("seconds out of nowhere")
	}
}
