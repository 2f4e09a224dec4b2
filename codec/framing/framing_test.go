package framing

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sjson "sluice/codec/json"
)

func encodings(l List) map[string]Framing {
	return map[string]Framing{
		"json": &JSON{List: l}, "pretty": &PrettyJSON{JSON{List: l}}, "yaml": &YAML{list: l},
		"cbor": &CBOR{List: l}, "protobuf": &Protobuf{List: l},
	}
}

func TestYAMLHasNoEvents(t *testing.T) {
	if _, err := new(YAML).AppendEvent(nil, "ADDED", []byte("{}"), Passthrough{}, true); !errors.Is(err, ErrNoStream) {
		t.Errorf("error is %v", err)
	}
}

func TestYAMLOfColumnDefinitionsMayCostTooMuch(t *testing.T) {
	for length, most := range map[int]error{1: nil, 1 << 20: sjson.ErrSize} {
		definitions := "[{\"name\":\"" + strings.Repeat("x", length) + "\"}]"
		y, err := NewYAML(List{Kind: "Table", ColumnDefinitions: []byte(definitions)})
		if !errors.Is(err, most) {
			t.Errorf("%d bytes: %v", length, err)
		}
		if err != nil {
			continue
		}
		if head := string(y.AppendListHead(nil, &metav1.ListMeta{}, 0, 0)); !strings.Contains(head, "columnDefinitions:\n") {
			t.Errorf("no column definitions in %q", head)
		}
	}
}

// TestPrettyListIsTheIndentedList compares head, items and tail with an indented document.
func TestPrettyListIsTheIndentedList(t *testing.T) {
	remaining := int64(3)
	meta := &metav1.ListMeta{ResourceVersion: "12", Continue: "c", RemainingItemCount: &remaining}
	for _, l := range []List{
		{APIVersion: "v1", Kind: "PodList"},
		{APIVersion: "ex.io/v1", Kind: "FooList", Unstructured: true},
		{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList", NullWhenEmpty: true},
		{APIVersion: "meta.k8s.io/v1", Kind: "Table", ColumnDefinitions: []byte(`[{"name":"Name"}]`)},
	} {
		for n := range 3 {
			write := func(f Framing) (out []byte) {
				out = f.AppendListHead(nil, meta, n, 0)
				for i := range n {
					if i > 0 {
						out = append(out, f.Separator()...)
					}
					out, _ = f.AppendItem(out, []byte(`{"a":[1,{}]}`), Passthrough{})
				}
				return f.AppendListTail(out, meta, n)
			}
			e := encodings(l)
			var want bytes.Buffer
			if err := json.Indent(&want, bytes.TrimSpace(write(e["json"])), "", "  "); err != nil {
				t.Fatal(err)
			}
			if got := write(e["pretty"]); !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%s of %d items:\n%s\nwant\n%s", l.Kind, n, got, want.Bytes())
			}
		}
	}
}
