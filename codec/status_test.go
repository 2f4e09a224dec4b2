package codec

import (
	"bytes"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"sluice/test/support/codectest"
)

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
