package codec

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"sluice/codec/cbor"
)

func TestFromJSONConvertsWholeBodies(t *testing.T) {
	const doc = `{"b":[1,-2,1.5,null,true],"a":{"x":"é\u003c"}}`
	for _, row := range []struct {
		to   Encoding
		want string
	}{
		{JSON, doc},
		{CBOR, "\xd9\xd9\xf7\xa2\x41a\xa1\x41x\x43é<\x41b\x85\x01\x21\xf9\x3e\x00\xf6\xf5"},
		{YAML, "a:\n  x: é<\nb:\n- 1\n- -2\n- 1.5\n- null\n- true\n"},
	} {
		t.Run(row.to.String(), func(t *testing.T) {
			got, err := AppendFromJSON([]byte("before"), []byte(doc), row.to)
			if want := "before" + row.want; err != nil || string(got) != want {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestFromJSONRefusesProtobuf(t *testing.T) {
	if got, err := AppendFromJSON([]byte("before"), []byte("{}"), Protobuf); !errors.Is(err, ErrUnsupported) || string(got) != "before" {
		t.Errorf("got %q, %v", got, err)
	}
}

// FuzzFromJSON converts a document to each encoding and back.
func FuzzFromJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,"x",null,{"b":{}}],"c":1e3}`))
	back := map[Encoding]func(src []byte) ([]byte, error){
		CBOR: func(src []byte) ([]byte, error) { return cbor.AppendJSON(nil, src) },
		YAML: yaml.YAMLToJSON,
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var want any
		if json.Unmarshal(doc, &want) != nil {
			return
		}
		for encoding, toJSON := range back {
			there, err := AppendFromJSON(nil, doc, encoding)
			if err != nil {
				continue
			}
			src, err := toJSON(there)
			if err != nil {
				t.Fatalf("%v back: %v", encoding, err)
			}
			var got any
			if err := json.Unmarshal(src, &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("by %v: %s became %s", encoding, doc, src)
			}
		}
	})
}
