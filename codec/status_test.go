package codec

import (
	"bytes"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"sluice/test/support/codectest"
)

// TestStatusIsWhatTheApiserverSends compares errors of apimachinery, in compact JSON, with what an
// apiserver sent.
func TestStatusIsWhatTheApiserverSends(t *testing.T) {
	configMaps, foos := schema.GroupResource{Resource: "configmaps"}, schema.GroupResource{Group: "ex.io", Resource: "foos"}
	for _, row := range []struct {
		name string
		err  *apierrors.StatusError
		want string
	}{
		{"not found", apierrors.NewNotFound(configMaps, "nope"), `"message":"configmaps \"nope\" not found","reason":"NotFound","details":{"name":"nope","kind":"configmaps"},"code":404}`},
		{"not found custom", apierrors.NewNotFound(foos, "nope"), `"message":"foos.ex.io \"nope\" not found","reason":"NotFound","details":{"name":"nope","group":"ex.io","kind":"foos"},"code":404}`},
		{"forbidden path", apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(`User "bob" cannot get path "/metrics"`)), `"message":"forbidden: User \"bob\" cannot get path \"/metrics\"","reason":"Forbidden","details":{},"code":403}`},
		{"escaped", apierrors.NewBadRequest("unable to parse requirement: <nil>"), `"message":"unable to parse requirement: \u003cnil\u003e","reason":"BadRequest","code":400}`},
		{"expired list", apierrors.NewResourceExpired("The resourceVersion for the provided list is too old."), `"message":"The resourceVersion for the provided list is too old.","reason":"Expired","code":410}`},
		{"too large", apierrors.NewRequestEntityTooLargeError("limit is 3145728"), `"message":"Request entity too large: limit is 3145728","reason":"RequestEntityTooLarge","code":413}`},
		{"unavailable", apierrors.NewServiceUnavailable("x"), `"message":"x","reason":"ServiceUnavailable","code":503}`},
		{"many", apierrors.NewTooManyRequests("storage is (re)initializing", 1), `"message":"storage is (re)initializing","reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` + row.want + "\n"
			if got := string(AppendStatus(nil, &row.err.ErrStatus, Format{})); got != want {
				t.Errorf("got  %swant %s", got, want)
			}
		})
	}
}

// parseStatus reads a recorded Status in Protobuf, JSON or YAML.
func parseStatus(t *testing.T, data []byte) *metav1.Status {
	s := new(metav1.Status)
	if bytes.HasPrefix(data, []byte("k8s\x00")) {
		var u runtime.Unknown
		if err := errors.Join(u.Unmarshal(data[4:]), s.Unmarshal(u.Raw)); err != nil {
			t.Fatal(err)
		}
	} else if err := yaml.Unmarshal(data, s); err != nil {
		t.Fatal(err, string(data))
	}
	return s
}

// TestStatusIsWrittenAsRecorded reads every recorded error body and writes it again in its encoding.
func TestStatusIsWrittenAsRecorded(t *testing.T) {
	for _, x := range codectest.Read(t, "status.jsonl") {
		body := x.Bytes()
		var f Format
		switch x.ContentType() {
		case MediaProtobuf:
			f.Encoding = Protobuf
		case MediaYAML:
			f.Encoding = YAML
		case MediaJSON:
			f.Pretty = bytes.HasPrefix(body, []byte("{\n"))
		default:
			continue
		}
		s := parseStatus(t, body)
		if got := AppendStatus([]byte("x"), s, f); string(got) != "x"+string(body) {
			t.Errorf("%s %s: got\n%s\nwant\n%s", x.Note, x.Path, got, body)
		}
	}
}

// TestStatusInCBORHasItsTag decodes an error in CBOR with apimachinery.
func TestStatusInCBORHasItsTag(t *testing.T) {
	s := &apierrors.NewTooManyRequests("later", 1).ErrStatus
	sameCBOR(t, AppendStatus(nil, s, Format{Encoding: CBOR}), mustCBOR(t, AppendStatus(nil, s, Format{})), false)
}

func mustCBOR(t *testing.T, doc []byte) []byte {
	out, err := AppendFromJSON(nil, doc, CBOR)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAppendStatusLeavesItsArgumentAlone(t *testing.T) {
	s := &metav1.Status{Message: "m"}
	AppendStatus(nil, s, Format{})
	if s.Kind != "" || s.Status != "" {
		t.Errorf("changed to %+v", s)
	}
}
