package codec

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	fxcbor "github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"sigs.k8s.io/yaml"

	"sluice/codec/cbor"
	cjson "sluice/codec/json"
	"sluice/codec/proto"
	"sluice/codec/table"
)

// configMaps returns the resource of the recordings with stored bytes of the given encoding.
func configMaps(source Encoding) *Resource {
	return &Resource{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", ListKind: "ConfigMapList", Namespaced: true, Source: source,
		Bookmark: []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1"}}`)}
}

// recordings are the objects that the recorded answers hold, by name@resourceVersion, as they would be stored.
type recordings map[*Resource]map[string][]byte

// seen is what an answer says in generic form: its list metadata and the objects in it, in order.
type seen struct {
	meta   ListMeta
	events []string // types; none unless a watch
	keys   []string // name@resourceVersion
	raw    [][]byte // the objects as they stand there, for whole objects in JSON or Protobuf
	end    []bool   // has the annotation that ends initial events
}

func (s *seen) add(event string, m metav1.ObjectMeta, raw []byte) {
	s.events = append(s.events, event)
	key := m.Name + "@" + m.ResourceVersion
	if event == EventDeleted { // carries the state before that version
		key += EventDeleted
	}
	s.keys = append(s.keys, key)
	s.raw = append(s.raw, raw)
	_, end := m.Annotations[initialEventsEnd]
	s.end = append(s.end, end)
}

// generic is any object, list, Table or event.
type generic struct {
	metav1.TypeMeta
	Metadata struct {
		metav1.ObjectMeta
		Continue           string
		RemainingItemCount *int64
	}
	Items []json.RawMessage
	Rows  []struct {
		Cells  []any
		Object *generic
	}
	Type   string
	Object json.RawMessage
}

func look(t *testing.T, body []byte, f Format, v Verb) (s seen) {
	if f.Encoding == Protobuf {
		return lookProto(t, body, v)
	}
	if f.Encoding == CBOR {
		var all []byte
		for len(body) > 0 {
			item, rest := firstItem(t, body)
			var err error
			if all, err = cbor.AppendJSON(all, item, cbor.Limits{}); err != nil {
				t.Fatal(err)
			}
			body = rest
		}
		body = all
	}
	if f.Encoding == YAML {
		var err error
		if body, err = yaml.YAMLToJSON(body); err != nil {
			t.Fatal(err)
		}
	}
	for d := json.NewDecoder(bytes.NewReader(body)); d.More(); {
		var g generic
		if err := d.Decode(&g); err != nil {
			t.Fatal(err)
		}
		event := g.Type
		raw := []byte(nil)
		if v == Watch {
			raw = bytes.Clone(g.Object)
			g = generic{}
			if err := json.Unmarshal(raw, &g); err != nil {
				t.Fatal(err)
			}
		}
		s.meta = ListMeta{ResourceVersion: g.Metadata.ResourceVersion, Continue: g.Metadata.Continue, Remaining: g.Metadata.RemainingItemCount}
		switch {
		case g.Kind == "Table":
			for _, r := range g.Rows {
				m := metav1.ObjectMeta{Name: fmt.Sprint(r.Cells[0]), ResourceVersion: g.Metadata.ResourceVersion}
				if r.Object != nil {
					m = r.Object.Metadata.ObjectMeta
				}
				s.add(event, m, nil)
			}
		case v == List:
			for _, item := range g.Items {
				var o generic
				if err := json.Unmarshal(item, &o); err != nil {
					t.Fatal(err)
				}
				s.add("", o.Metadata.ObjectMeta, item)
			}
		case v == Get:
			s.add("", g.Metadata.ObjectMeta, bytes.TrimSpace(body))
		default:
			s.add(event, g.Metadata.ObjectMeta, raw)
		}
	}
	return s
}

func lookProto(t *testing.T, body []byte, v Verb) (s seen) {
	add := func(event string, raw []byte) {
		if event == EventError {
			s.add(event, metav1.ObjectMeta{}, raw)
			return
		}
		m, err := proto.ParseObjectMeta(raw)
		if err != nil {
			t.Fatal(err)
		}
		om := metav1.ObjectMeta{Name: string(m.Name), ResourceVersion: string(m.ResourceVersion)}
		if _, ok := m.Annotation(initialEventsEnd); ok {
			om.Annotations = map[string]string{initialEventsEnd: ""}
		}
		s.add(event, om, bytes.Clone(raw))
	}
	for v == Watch && len(body) > 0 {
		end := 4 + binary.BigEndian.Uint32(body)
		event, object, err := proto.ParseEvent(body[4:end])
		if err != nil {
			t.Fatal(err)
		}
		u, err := proto.ParseEnvelope(object)
		if err != nil {
			t.Fatal(err)
		}
		add(string(event), u.Raw)
		body = body[end:]
	}
	if v == Watch {
		return s
	}
	u, err := proto.ParseEnvelope(body)
	if err != nil {
		t.Fatal(err)
	}
	if v == Get {
		add("", u.Raw)
		return s
	}
	m, _ := proto.ParseListMeta(u.Raw)
	s.meta = ListMeta{ResourceVersion: string(m.ResourceVersion), Continue: string(m.Continue)}
	if m.HasRemaining {
		s.meta.Remaining = &m.Remaining
	}
	for item := range proto.Items(u.Raw) {
		add("", item)
	}
	return s
}

// TestWriterRecorded writes every recorded answer of the default server anew, out of objects taken from whole-object
// answers, from each source.
func TestWriterRecorded(t *testing.T) {
	cmJSON, cmProto := configMaps(JSON), configMaps(Protobuf)
	custom := *foos
	custom.Columns = customColumns(t)
	objects := recordings{cmJSON: {}, cmProto: {}, &custom: {}}
	exchanges := readExchanges(t, "reads.jsonl")
	for _, x := range exchanges {
		target := x.target(t)
		d := Negotiate(x.client(t), target)
		if x.Status != 200 || d.Refusal != nil || d.Format.Shape != Object || d.Format.Pretty {
			continue
		}
		s := look(t, x.body(), d.Format, target.Verb)
		for i, key := range s.keys {
			key = x.Server + key
			switch {
			case d.Format.Encoding == Protobuf:
				objects[cmProto][key] = s.raw[i]
			case d.Format.Encoding != JSON:
			case target.Style == Unstructured:
				objects[&custom][key] = s.raw[i]
			default:
				b, err := cjson.InsertTypeMeta(nil, s.raw[i], "v1", "ConfigMap")
				if err != nil {
					t.Fatal(err)
				}
				objects[cmJSON][key] = b
			}
		}
	}
	done := map[string]int{}
	for i, x := range exchanges {
		target := x.target(t)
		d := Negotiate(x.client(t), target)
		if x.Status != 200 || d.Refusal != nil || d.Format.Shape == MetadataList {
			continue
		}
		sources := []*Resource{cmJSON, cmProto}
		if target.Style == Unstructured {
			sources = []*Resource{&custom}
		}
		for _, r := range sources {
			w, err := NewWriter(r, d.Format)
			if err != nil {
				done["unsupported "+r.Source.String()+" to "+d.Format.Encoding.String()+" "+d.Format.Shape.String()]++
				continue
			}
			t.Run(fmt.Sprintf("%d %s from %s", i, x.Note, r.Source), func(t *testing.T) {
				at, err := time.Parse(time.RFC1123, x.header(x.RespHeaders, "Date"))
				if err != nil {
					t.Fatal(err)
				}
				got, ok := rewrite(t, w.At(at), x, target.Verb, objects[r])
				if !ok {
					t.Skip("holds an object that no whole-object answer holds")
				}
				if d.Format.Encoding == CBOR { // the apiserver shuffles maps
					sameCBOR(t, got, x.body(), r.Style == Unstructured)
				} else {
					equal(t, got, x.body())
				}
				done[r.Source.String()+" to "+d.Format.Encoding.String()+" "+d.Format.Shape.String()]++
			})
		}
	}
	for k, n := range done {
		t.Log(n, k)
	}
}

// rewrite writes what was seen.
func rewrite(t *testing.T, w *Writer, x *exchange, v Verb, objects map[string][]byte) (out []byte, ok bool) {
	s := look(t, x.body(), w.Format(), v)
	var items [][]byte
	for _, key := range s.keys {
		if strings.HasPrefix(key, "@") {
			items = append(items, nil)
			continue
		}
		obj := objects[x.Server+key]
		if obj == nil {
			return nil, false
		}
		items = append(items, obj)
	}
	var err error
	switch v {
	case Get:
		out, err = w.AppendObject(nil, items[0])
	case List:
		return writeList(t, w, s.meta, items), true
	case Watch:
		for i, typ := range s.events {
			if typ == EventError {
				raw := s.raw[i]
				if w.Format().Encoding == Protobuf {
					raw = proto.AppendEnvelope(nil, "v1", "Status", raw)
				}
				out = w.AppendErrorEvent(out, parseStatus(t, raw))
			} else if typ == EventBookmark {
				out, err = w.AppendBookmark(out, strings.TrimPrefix(s.keys[i], "@"), s.end[i], i == 0)
			} else {
				out, err = w.AppendEvent(out, typ, items[i], i == 0)
			}
			if err != nil {
				break
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, true
}

func customColumns(t *testing.T) Columns {
	c, err := table.Custom([]table.PrinterColumn{{Name: "Color", Type: "string", JSONPath: ".spec.color"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// firstItem takes the first item off a sequence.
func firstItem(t *testing.T, b []byte) (item, rest []byte) {
	t.Helper()
	var raw fxcbor.RawMessage
	rest, err := fxcbor.UnmarshalFirst(b, &raw)
	if err != nil {
		t.Fatal(err)
	}
	return raw, rest
}

// sameCBOR compares two sequences of items by value. Integers and floats are told apart but for custom resources: a server
// that stores those as CBOR knows 1.0 from 1, and its JSON, which is what is stored here, says 1 for both.
func sameCBOR(t *testing.T, got, want []byte, loose bool) {
	t.Helper()
	decode := func(b []byte) (out []any) {
		for len(b) > 0 {
			item, rest := firstItem(t, b)
			var v any
			if err := direct.Unmarshal(item, &v); err != nil {
				t.Fatal(err)
			}
			out, b = append(out, v), rest
		}
		return out
	}
	if len(got) != len(want) && !loose {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	a, b := any(decode(want)), any(decode(got))
	if loose {
		a, b = integral(a), integral(b)
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
}

// integral turns floats without a fraction into integers.
func integral(v any) any {
	switch v := v.(type) {
	case float64:
		if n := int64(v); float64(n) == v {
			return n
		}
	case []any:
		for i := range v {
			v[i] = integral(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = integral(v[k])
		}
	}
	return v
}
