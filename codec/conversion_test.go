package codec

import (
	"encoding/json"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sluice/codec/projection"
	"sluice/codec/table"
	"sluice/test/support/codectest"
)

func TestMetadataLacksAnnotationsOfConversion(t *testing.T) {
	const hidden = "deprecated.daemonset.template.generation"
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Name: "a", ResourceVersion: "1", Annotations: map[string]string{hidden: "3", "shown": "4"},
	}}
	set.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}
	for _, source := range []Encoding{JSON, Protobuf} {
		r := &Resource{Group: "apps", Version: "v1", Resource: "daemonsets", Kind: "DaemonSet", ListKind: "DaemonSetList", Source: source, Namespaced: true,
			Columns: table.Default()}
		src, err := set.Marshal()
		if source == JSON {
			src, err = json.Marshal(set)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			format Format
			hidden bool
		}{
			{Format{}, false},
			{Format{Shape: Metadata}, true},
			{Format{Shape: Metadata, Projection: projection.WithoutManagedFields}, true},
			{Format{Shape: Table}, true},
			{Format{Shape: Table, Include: IncludeObject}, false},
		} {
			body, err := mustWriter(t, r, c.format).At(time.Now()).AppendObject(nil, src)
			if err != nil {
				t.Fatal(err)
			}
			got := annotationsIn(t, body)
			if _, ok := got[hidden]; ok == c.hidden || got["shown"] != "4" {
				t.Errorf("%v, %+v: annotations %q", source, c.format, got)
			}
		}
		body, err := mustWriter(t, r, Format{Shape: Metadata, Encoding: Protobuf}).AppendObject(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		var u runtime.Unknown
		var m metav1.PartialObjectMetadata
		if u.Unmarshal(body[4:]) != nil || m.Unmarshal(u.Raw) != nil || len(m.Annotations) != 1 || m.Annotations["shown"] != "4" {
			t.Errorf("%v to Protobuf: annotations %q", source, m.Annotations)
		}
		var list metav1.PartialObjectMetadataList
		w := mustWriter(t, r, Format{Shape: Metadata, Encoding: Protobuf})
		body = writeList(t, w, metav1.ListMeta{}, [][]byte{src})
		if n, ok := w.ItemSize(src); ok {
			t.Errorf("%v: item size %d without encoding", source, n)
		}
		if u.Unmarshal(body[4:]) != nil || list.Unmarshal(u.Raw) != nil || len(list.Items) != 1 || len(list.Items[0].Annotations) != 1 {
			t.Errorf("%v to a list in Protobuf: %+v", source, list.Items)
		}
	}
}

// annotationsIn returns the annotations of an object or of the object in the first row of a Table.
func annotationsIn(t *testing.T, body []byte) map[string]string {
	t.Helper()
	type object struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	var o struct {
		object
		Rows []struct{ Object object }
	}
	if err := json.Unmarshal(body, &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Rows) > 0 {
		return o.Rows[0].Object.Metadata.Annotations
	}
	return o.Metadata.Annotations
}

func TestRowsOfDefaultColumnsAreNullWhenEmpty(t *testing.T) {
	for want, columns := range map[string]*table.Columns{"null": table.Default(), "[]": codectest.PodColumns()} {
		r := &Resource{Version: "v1", Kind: "LimitRange", ListKind: "LimitRangeList", Source: Protobuf, Columns: columns}
		body := writeList(t, mustWriter(t, r, Format{Shape: Table}), metav1.ListMeta{ResourceVersion: "1"}, nil)
		var list struct{ Rows json.RawMessage }
		if err := json.Unmarshal(body, &list); err != nil || string(list.Rows) != want {
			t.Errorf("rows %s, %v, want %s", list.Rows, err, want)
		}
	}
}
