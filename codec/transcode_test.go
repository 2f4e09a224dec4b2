package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

func TestTranscode(t *testing.T) {
	const doc = `{"b":[1,-2,1.5,null,true],"a":{"x":"é\u003c"}}`
	cborDoc := "\xd9\xd9\xf7\xa2\x41b\x85\x01\x21\xf9\x3e\x00\xf6\xf5\x41a\xa1\x41x\x43é<"
	for _, row := range []struct {
		name     string
		from, to Encoding
		src      string
		want     string
		err      error
	}{
		{"JSON to itself", JSON, JSON, doc, doc, nil},
		{"CBOR to itself", CBOR, CBOR, "\x01", "\x01", nil},
		{"JSON to CBOR", JSON, CBOR, doc, cborDoc, nil},
		{"CBOR to JSON", CBOR, JSON, cborDoc, `{"a":{"x":"é\u003c"},"b":[1,-2,1.5,null,true]}`, nil},
		{"JSON to YAML", JSON, YAML, doc, "a:\n  x: é<\nb:\n- 1\n- -2\n- 1.5\n- null\n- true\n", nil},
		{"YAML to JSON", YAML, JSON, "b: [1, yes]\na: 0x10\n", `{"a":16,"b":[1,true]}`, nil},
		{"YAML to itself", YAML, YAML, "a: 1", "a: 1", nil},
		{"YAML to CBOR", YAML, CBOR, "a: 1", "\xd9\xd9\xf7\xa1\x41a\x01", nil},
		{"CBOR to YAML", CBOR, YAML, "\xa1\x61a\x01", "a: 1\n", nil},
		{"broken YAML", YAML, JSON, "a: [", "", errAny},
		{"broken YAML to CBOR", YAML, CBOR, "a: [", "", errAny},
		{"a bomb", YAML, JSON, "a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "", errAny},
		{"broken JSON", JSON, CBOR, `{"a":`, "", errAny},
		{"broken JSON to itself", JSON, JSON, `{"a":`, "", errAny},
		{"broken CBOR", CBOR, JSON, "\xa1", "", errAny},
		{"duplicate names in CBOR", CBOR, JSON, "\xa2\x41a\x01\x41a\x01", "", errAny},
		{"Protobuf", Protobuf, JSON, "k8s\x00", "", ErrUnsupported},
		{"to Protobuf", JSON, Protobuf, "{}", "", ErrUnsupported},
		{"no such encoding", 9, JSON, "{}", "", ErrUnsupported},
		{"no such target", JSON, 9, "{}", "", ErrUnsupported},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Transcode([]byte("before"), []byte(row.src), row.from, row.to, Limits{})
			if (err != nil) != (row.err != nil) || row.err != nil && row.err != errAny && !errors.Is(err, row.err) {
				t.Fatalf("error %v, want %v", err, row.err)
			}
			if want := "before" + row.want; string(got) != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// errAny stands for some error or other.
var errAny = errors.New("any")

func TestTranscodeLimits(t *testing.T) {
	for from := JSON; from <= maxEncoding; from++ {
		for to := JSON; to <= maxEncoding; to++ {
			if !Transcodes(from, to) {
				continue
			}
			if _, err := Transcode(nil, bytes.Repeat([]byte(" "), 100), from, to, Limits{Size: 99}); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%v to %v: no limit", from, to)
			}
		}
	}
	if Transcodes(JSON, Protobuf) || Transcodes(9, JSON) || !Transcodes(JSON, CBOR) {
		t.Error("Transcodes")
	}
}

// FuzzTranscode goes from JSON and back by every encoding.
func FuzzTranscode(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,"x",null,{"b":{}}],"c":1e3}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, by := range []Encoding{CBOR, YAML} {
			there, err := Transcode(nil, doc, JSON, by, Limits{})
			if err != nil {
				continue
			}
			back, err := Transcode(nil, there, by, JSON, Limits{})
			if err != nil {
				t.Fatalf("%v back: %v", by, err)
			}
			var want, got any
			if json.Unmarshal(doc, &want) != nil {
				continue
			}
			if err := json.Unmarshal(back, &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("by %v: %s became %s", by, doc, back)
			}
		}
	})
}
