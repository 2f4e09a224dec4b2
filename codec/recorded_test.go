package codec_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"sluice/codec"
	"sluice/codec/cbor"
	cjson "sluice/codec/json"
	"sluice/codec/negotiate"
	"sluice/codec/proto"
	"sluice/codec/table"
	"sluice/test/support/codectest"
)

// configMaps returns the built-in resource of the recordings, stored in an encoding.
func configMaps(source codec.Encoding) *codec.Resource {
	return &codec.Resource{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", ListKind: "ConfigMapList", Namespaced: true, Source: source,
		Bookmark: []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1"}}`)}
}

// recordings has the objects of the recorded responses in the form in which a resource is stored, by
// server and name@resourceVersion.
type recordings map[*codec.Resource]map[string][]byte

// seen is the content of a response: the metadata of its list and its objects, in order.
type seen struct {
	meta   metav1.ListMeta
	events []string // types; none unless a watch
	keys   []string // name@resourceVersion
	raw    [][]byte // the objects as they stand there, for whole objects in codec.JSON or codec.Protobuf
	end    []bool   // has the annotation that ends initial events
}

func (s *seen) add(event string, m metav1.ObjectMeta, raw []byte) {
	s.events = append(s.events, event)
	key := m.Name + "@" + m.ResourceVersion
	if event == string(watch.Deleted) { // carries the state before that version
		key += string(watch.Deleted)
	}
	s.keys = append(s.keys, key)
	s.raw = append(s.raw, raw)
	_, end := m.Annotations[metav1.InitialEventsAnnotationKey]
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

func look(t *testing.T, body []byte, f codec.Format, verb string) (s seen) {
	if f.Encoding == codec.Protobuf {
		return lookProto(t, body, verb)
	}
	if f.Encoding == codec.CBOR {
		var all []byte
		for len(body) > 0 {
			item, rest := codec.FirstItem(t, body)
			var err error
			if all, err = cbor.AppendJSON(all, item); err != nil {
				t.Fatal(err)
			}
			body = rest
		}
		body = all
	}
	if f.Encoding == codec.YAML {
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
		if verb == "watch" {
			raw = bytes.Clone(g.Object)
			g = generic{}
			if err := json.Unmarshal(raw, &g); err != nil {
				t.Fatal(err)
			}
		}
		s.meta = metav1.ListMeta{ResourceVersion: g.Metadata.ResourceVersion, Continue: g.Metadata.Continue, RemainingItemCount: g.Metadata.RemainingItemCount}
		switch {
		case g.Kind == "Table":
			for _, r := range g.Rows {
				m := metav1.ObjectMeta{Name: fmt.Sprint(r.Cells[0]), ResourceVersion: g.Metadata.ResourceVersion}
				if r.Object != nil {
					m = r.Object.Metadata.ObjectMeta
				}
				s.add(event, m, nil)
			}
		case verb == "list":
			for _, item := range g.Items {
				var o generic
				if err := json.Unmarshal(item, &o); err != nil {
					t.Fatal(err)
				}
				s.add("", o.Metadata.ObjectMeta, item)
			}
		case verb == "get":
			s.add("", g.Metadata.ObjectMeta, bytes.TrimSpace(body))
		default:
			s.add(event, g.Metadata.ObjectMeta, raw)
		}
	}
	return s
}

func lookProto(t *testing.T, body []byte, verb string) (s seen) {
	add := func(event string, raw []byte) {
		if event == string(watch.Error) {
			s.add(event, metav1.ObjectMeta{}, raw)
			return
		}
		m, err := proto.ParseObjectMeta(raw)
		if err != nil {
			t.Fatal(err)
		}
		om := metav1.ObjectMeta{Name: string(m.Name), ResourceVersion: string(m.ResourceVersion)}
		if _, ok := m.Annotation(metav1.InitialEventsAnnotationKey); ok {
			om.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: ""}
		}
		s.add(event, om, bytes.Clone(raw))
	}
	for verb == "watch" && len(body) > 0 {
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
	if verb == "watch" {
		return s
	}
	u, err := proto.ParseEnvelope(body)
	if err != nil {
		t.Fatal(err)
	}
	if verb == "get" {
		add("", u.Raw)
		return s
	}
	s.meta, _ = proto.ParseListMeta(u.Raw)
	for item := range proto.Items(u.Raw) {
		add("", item)
	}
	return s
}

// formatOf returns the format that negotiation chooses for a recorded request.
func formatOf(x *codectest.Exchange) (codec.Format, bool) {
	q := x.Query()
	r := negotiate.Request{
		Accept: x.Request("Accept"), UserAgent: x.Request("User-Agent"),
		Pretty: q.Get("pretty"), IncludeObject: q.Get("includeObject"),
	}
	verbs := map[string]negotiate.Verb{"get": negotiate.Get, "list": negotiate.List, "watch": negotiate.Watch}
	e := negotiate.Endpoint{Verb: verbs[x.Verb()], CBOR: x.CBOR(), Strict: true}
	if x.Custom() {
		e.Style = codec.Unstructured
	}
	return negotiate.Format(r, e)
}

// TestWriterWritesRecordedResponses writes every recorded response again, from the objects of those responses
// that have whole objects, stored in each form.
func TestWriterWritesRecordedResponses(t *testing.T) {
	cmJSON, cmProto := configMaps(codec.JSON), configMaps(codec.Protobuf)
	custom := *foos
	objects := recordings{cmJSON: {}, cmProto: {}, &custom: {}}
	exchanges := codectest.Read(t, "reads.jsonl")
	setColumns(t, exchanges, cmJSON, cmProto, &custom)
	for _, x := range exchanges {
		format, ok := formatOf(x)
		if x.Status != 200 || !ok || format.Shape != codec.Object || format.Pretty {
			continue
		}
		s := look(t, x.Bytes(), format, x.Verb())
		for i, key := range s.keys {
			key = x.Server + key
			switch {
			case format.Encoding == codec.Protobuf:
				objects[cmProto][key] = s.raw[i]
			case format.Encoding != codec.JSON:
			case x.Custom():
				objects[&custom][key] = s.raw[i]
			default:
				b, err := cjson.AppendWithTypeMeta(nil, s.raw[i], "v1", "ConfigMap")
				if err != nil {
					t.Fatal(err)
				}
				objects[cmJSON][key] = b
			}
		}
	}
	done := map[string]int{}
	for i, x := range exchanges {
		format, ok := formatOf(x)
		if x.Status != 200 || !ok {
			continue
		}
		sources := []*codec.Resource{cmJSON, cmProto}
		if x.Custom() {
			sources = []*codec.Resource{&custom}
		}
		for _, r := range sources {
			w, err := codec.NewWriter(r, format)
			if err != nil {
				done["unsupported "+r.Source.String()+" to "+format.Encoding.String()+" "+format.Shape.String()]++
				continue
			}
			t.Run(fmt.Sprintf("%d %s from %s", i, x.Note, r.Source), func(t *testing.T) {
				at, err := time.Parse(time.RFC1123, x.Response("Date"))
				if err != nil {
					t.Fatal(err)
				}
				got, ok := rewrite(t, w.At(at), x, x.Verb(), objects[r])
				if !ok {
					t.Skip("has an object that no response with whole objects has")
				}
				if format.Encoding == codec.CBOR { // the apiserver shuffles maps
					codec.SameCBOR(t, got, x.Bytes(), r.Style == codec.Unstructured)
				} else {
					codec.Equal(t, got, x.Bytes())
				}
				done[r.Source.String()+" to "+format.Encoding.String()+" "+format.Shape.String()]++
			})
		}
	}
	for k, n := range done {
		t.Log(n, k)
	}
}

// rewrite writes the content of a recorded response. ok is false if one of its objects is unknown.
func rewrite(t *testing.T, w *codec.Writer, x *codectest.Exchange, verb string, objects map[string][]byte) (out []byte, ok bool) {
	s := look(t, x.Bytes(), w.Format(), verb)
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
	switch verb {
	case "get":
		out, err = w.AppendObject(nil, items[0])
	case "list":
		return codec.WriteList(t, w, s.meta, items), true
	case "watch":
		for i, typ := range s.events {
			if typ == string(watch.Error) {
				raw := s.raw[i]
				if w.Format().Encoding == codec.Protobuf {
					raw = proto.AppendEnvelope(nil, "v1", "Status", raw)
				}
				out = w.AppendErrorEvent(out, codec.ParseStatus(t, raw))
			} else if typ == string(watch.Bookmark) {
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

// setColumns sets the columns of recorded Tables.
func setColumns(t *testing.T, exchanges []*codectest.Exchange, cmJSON, cmProto, custom *codec.Resource) {
	declared, err := table.Custom([]table.PrinterColumn{{Name: "Color", Type: "string", JSONPath: ".spec.color"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range exchanges {
		if format, ok := formatOf(x); !ok || x.Status != 200 || format.Shape != codec.Table || format.Encoding != codec.JSON || x.Verb() == "watch" {
			continue
		}
		definitions := cjson.Value(x.Bytes()).Get("columnDefinitions")
		if c, ok := declared.As(definitions); ok && x.Custom() {
			custom.Columns = c
		}
		if c, ok := table.Builtin("", "v1", "ConfigMap", 0, definitions); ok {
			cmJSON.Columns, cmProto.Columns = c, c
		}
	}
	if cmJSON.Columns == nil || custom.Columns == nil {
		t.Fatal("no recorded Table has the columns")
	}
}
