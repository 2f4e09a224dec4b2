package codec

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"sluice/codec/table"
)

// TestTablesEqualApimachinery compares with apimachinery's encoding of a Table with the same definitions
// and cells.
func TestTablesEqualApimachinery(t *testing.T) {
	columns := podsProto.Columns
	now := time.Unix(1700001000, 0)
	for _, r := range []*Resource{podsProto, podsJSON} {
		for _, f := range []Format{{}, {Pretty: true}, {Encoding: YAML}, {MetaVersion: MetaV1beta1}, {Include: IncludeNone}, {Include: IncludeObject}} {
			f.Shape = Table
			t.Run(fmt.Sprintf("%v to %+v", r.Source, f), func(t *testing.T) {
				w := mustWriter(t, r, f).At(now)
				for _, m := range listMetas {
					for _, n := range []int{0, 1, 3} {
						want := newTable(t, columns, f, m)
						var items [][]byte
						for i := range n {
							p := pod(i)
							if i == 2 { // has a condition in its row
								p.Status.Phase = corev1.PodSucceeded
							}
							items = append(items, stored(t, p, r.Source))
							want.Rows = append(want.Rows, newRow(t, columns, f, p, now))
						}
						equal(t, writeList(t, w, m, items), encode(t, f, want))
						if n == 1 {
							got, err := w.AppendObject(nil, items[0])
							if err != nil {
								t.Fatal(err)
							}
							want.ListMeta = metav1.ListMeta{ResourceVersion: "100"}
							equal(t, got, encode(t, f, want))
						}
					}
				}
			})
		}
	}
	if w := mustWriter(t, podsProto, Format{Shape: Table}); w.Sorted() {
		t.Error("pods are not sorted")
	}
}

func newTable(t *testing.T, c *table.Columns, f Format, m metav1.ListMeta) *metav1.Table {
	out := &metav1.Table{TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: f.MetaVersion.String()}, ListMeta: withoutShards(m), Rows: []metav1.TableRow{}}
	if err := json.Unmarshal(c.AppendDefinitions(nil), &out.ColumnDefinitions); err != nil {
		t.Fatal(err)
	}
	return out
}

func newRow(t *testing.T, c *table.Columns, f Format, p *corev1.Pod, now time.Time) (row metav1.TableRow) {
	obj := stored(t, p, JSON)
	cells, err := c.AppendCells(nil, obj, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(cells, &row.Cells); err != nil {
		t.Fatal(err)
	}
	if b := c.AppendConditions(nil, obj); len(b) > 0 {
		if err := json.Unmarshal(b, &row.Conditions); err != nil {
			t.Fatal(err)
		}
	}
	switch f.Include {
	case IncludeMetadata:
		row.Object = runtime.RawExtension{Object: partial(p, f.MetaVersion)}
	case IncludeObject:
		q := p.DeepCopy()
		q.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
		row.Object = runtime.RawExtension{Object: q}
	}
	return row
}

// TestOnlyTheFirstEventCarriesColumnDefinitions also checks that the bookmark at the end of the initial
// events has an object with includeObject=None.
func TestOnlyTheFirstEventCarriesColumnDefinitions(t *testing.T) {
	w := mustWriter(t, podsProto, Format{Shape: Table, Include: IncludeNone})
	src := stored(t, pod(0), Protobuf)
	type event struct {
		Object struct {
			ColumnDefinitions []any
			Rows              []struct{ Object *metav1.PartialObjectMetadata }
		}
	}
	for _, row := range []struct {
		name                string
		write               func() ([]byte, error)
		definitions, object bool
	}{
		{"first", func() ([]byte, error) { return w.AppendEvent(nil, string(watch.Added), src, true) }, true, false},
		{"second", func() ([]byte, error) { return w.AppendEvent(nil, string(watch.Added), src, false) }, false, false},
		{"bookmark", func() ([]byte, error) { return w.AppendBookmark(nil, "7", false, false) }, false, false},
		{"first is a bookmark", func() ([]byte, error) { return w.AppendBookmark(nil, "7", false, true) }, true, false},
		{"end of initial events", func() ([]byte, error) { return w.AppendBookmark(nil, "7", true, false) }, false, true},
	} {
		b, err := row.write()
		if err != nil {
			t.Fatal(err)
		}
		var e event
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatal(err)
		}
		if (e.Object.ColumnDefinitions != nil) != row.definitions || len(e.Object.Rows) != 1 || (e.Object.Rows[0].Object != nil) != row.object {
			t.Errorf("%s: %s", row.name, b)
		}
	}
}
