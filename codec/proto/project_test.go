package proto

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"sluice/codec/json"
	"sluice/codec/projection"
)

// randomNode returns a node of some fields of a message, of which value is an example in JSON.
func randomNode(r *rand.Rand, p *plan, value any) *projection.Node {
	n := &projection.Node{Fields: map[string]*projection.Node{}}
	example, _ := value.(map[string]any)
	for range 1 + r.IntN(3) {
		f, name := randomField(r, p)
		if f == nil {
			continue
		}
		child := &projection.Node{Whole: true}
		values, _ := example[name].([]any)
		entries, _ := example[name].(map[string]any)
		switch {
		case r.IntN(3) == 0:
		case f.op == opMessage:
			child = randomNode(r, f.sub, example[name])
		case f.op == opRepeated && f.elem == opMessage && len(values) > 0:
			child = &projection.Node{Each: randomNode(r, f.sub, values[0])}
		case f.op == opMap:
			child = &projection.Node{Fields: map[string]*projection.Node{"absent": {Whole: true}}}
			for key := range entries {
				if r.IntN(2) == 0 && !strings.Contains(key, "\ufffd") {
					child.Fields[key] = &projection.Node{Whole: true}
				}
			}
		}
		n.Fields[name] = child
	}
	if len(n.Fields) == 0 {
		return &projection.Node{Whole: true}
	}
	return n
}

// randomField returns a printed field of a message, or of one inlined in it, and its name.
func randomField(r *rand.Rand, p *plan) (*planField, string) {
	if len(p.fields) == 0 {
		return nil, ""
	}
	f := &p.fields[r.IntN(len(p.fields))]
	if f.op == opInline {
		return randomField(r, f.sub)
	}
	if name := f.name(); name != "" {
		return f, name
	}
	return nil, ""
}

// TestProjectedSchemasWriteTheProjectionOfTheirOutput: of every kind, in JSON, CBOR and Protobuf.
func TestProjectedSchemasWriteTheProjectionOfTheirOutput(t *testing.T) {
	partial := 0
	eachFilled(t, func(t *testing.T, m *Schema, raw []byte) {
		r := rand.New(rand.NewPCG(uint64(len(raw)), uint64(len(m.APIVersion+m.Kind))))
		whole, err := m.AppendJSON(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := stdjson.Unmarshal(whole, &value); err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			tree := &projection.Tree{Keeps: i%2 == 0, Root: randomNode(r, m.plan, value)}
			if tree.Root.Whole {
				continue
			}
			if tree.Keeps {
				tree.Root.Fields["kind"], tree.Root.Fields["apiVersion"] = &projection.Node{Whole: true}, &projection.Node{Whole: true}
			}
			want, err := json.AppendProjected(nil, whole, tree)
			if err != nil {
				t.Fatal(err)
			}
			if len(want) < len(whole) {
				partial++
			}
			checkProjection(t, m, tree, raw, want)
		}
	})
	if partial < 1000 {
		t.Errorf("only %d projections leave something out", partial)
	}
}

// checkProjection compares the output of a projected schema with want, the projected JSON.
func checkProjection(t *testing.T, m *Schema, tree *projection.Tree, raw, want []byte) {
	t.Helper()
	text, _ := stdjson.Marshal(tree)
	s, err := m.Project(tree)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	got, err := s.AppendJSON([]byte("x"), raw)
	if err != nil || string(got) != "x"+string(want) {
		t.Fatalf("%s:\n got %s, %v\nwant x%s", text, got, err, want)
	}
	cb, err := s.AppendCBOR(nil, raw)
	if err != nil || !bytes.Equal(jsonOfCBOR(t, cb), canonical(t, want)) {
		t.Fatalf("%s in CBOR:\n got %s, %v\nwant %s", text, jsonOfCBOR(t, cb), err, canonical(t, want))
	}
	part, err := s.AppendProtobuf([]byte("x"), raw)
	if err != nil || part[0] != 'x' || len(part) > len(raw)+1 {
		t.Fatalf("%s in Protobuf: %x, %v", text, part, err)
	}
	if err := m.Check(part[1:]); err != nil {
		t.Fatalf("%s in Protobuf: %v", text, err)
	}
	decoded, expected := newObject(t, m.APIVersion, m.Kind), newObject(t, m.APIVersion, m.Kind)
	if err := decoded.Unmarshal(part[1:]); err != nil {
		t.Fatal(err)
	}
	if stdjson.Unmarshal(want, expected) != nil {
		return // a year that JSON cannot have
	}
	one, _ := stdjson.Marshal(decoded)
	other, _ := stdjson.Marshal(expected)
	if one, other = members(t, one), members(t, other); !bytes.Equal(one, other) {
		t.Fatalf("%s in Protobuf:\n got %s\nwant %s", text, one, other)
	}
}

// members returns the members of an object but kind, apiVersion and null, which Protobuf does not have.
func members(t *testing.T, b []byte) []byte {
	t.Helper()
	var v map[string]any
	if err := stdjson.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	delete(v, "kind")
	delete(v, "apiVersion")
	out, _ := stdjson.Marshal(withoutNull(v))
	return withoutMinusZero(out)
}

func withoutNull(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutNull(v[i])
		}
	case map[string]any:
		templates, _ := v["volumeClaimTemplates"].([]any)
		for _, template := range templates { // of a StatefulSet: nestedObjects
			delete(template.(map[string]any), "kind")
			delete(template.(map[string]any), "apiVersion")
		}
		for name := range v {
			if v[name] == nil {
				delete(v, name)
			} else {
				v[name] = withoutNull(v[name])
			}
		}
	}
	return v
}

func jsonOfCBOR(t *testing.T, b []byte) []byte {
	t.Helper()
	var v any
	if err := direct.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	out, err := stdjson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return canonical(t, out)
}

func canonical(t *testing.T, b []byte) []byte {
	t.Helper()
	var v any
	if err := stdjson.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	out, err := stdjson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return withoutMinusZero(out)
}

// withoutMinusZero writes -0 as 0, since CBOR has it as an integer.
func withoutMinusZero(b []byte) []byte { return bytes.ReplaceAll(b, []byte("-0"), []byte("0")) }

func TestPathsThatAKindDoesNotHaveAreRefused(t *testing.T) {
	pods := mustLookup(t, "v1", "Pod")
	for path, want := range map[string]string{
		"spec.nodeNam":                           "v1.PodSpec.nodeNam: no such field",
		"spec.containers.image":                  "v1.PodSpec.containers: a list: write containers[*]",
		"spec.nodeName.x":                        "v1.PodSpec.nodeName: it has no fields",
		"spec.nodeName[x]":                       "v1.PodSpec.nodeName: it has no fields",
		"spec[*].x":                              "v1.PodSpec.[*]: it is no list or map",
		"metadata.finalizers[*].x":               "v1.ObjectMeta.finalizers: its values have no fields",
		"metadata.annotations[a].b":              "v1.ObjectMeta.annotations: paths into one value of a map are not supported",
		"status.startTime.seconds":               "v1.PodStatus.startTime: it has no fields",
		"spec.volumes[*].secret.items[*].mod":    "v1.KeyToPath.mod: no such field",
		"metadata.managedFields[*].fieldsV1.f:a": "v1.ManagedFieldsEntry.fieldsV1: it has no fields",
	} {
		p, err := projection.Parse(path, "")
		if err != nil {
			t.Fatal(path, err)
		}
		_, err = pods.Project(p.Tree())
		bad, ok := errors.AsType[*FieldError](err)
		if !ok || bad.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

func TestProjectionsOfMalformedMessagesFail(t *testing.T) {
	p, err := projection.Parse("spec.nodeName", "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := mustLookup(t, "v1", "Pod").Project(p.Tree())
	if err != nil {
		t.Fatal(err)
	}
	src := raw(t, &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node"}})
	for i := range src {
		for _, b := range [][]byte{src[:i], slices.Replace(slices.Clone(src), i, i+1, 0xff)} {
			if got, err := s.AppendProtobuf([]byte("x"), b); err != nil && string(got) != "x" {
				t.Errorf("%x: %x, %v", b, got, err)
			}
		}
	}
}
