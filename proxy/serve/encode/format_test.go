package encode

import (
	"fmt"
	"testing"

	"k8s.io/utils/lru"

	"sluice/codec"
	"sluice/codec/projection"
	"sluice/test/support/servetest"
)

func TestOnlyTableEncodersChangeWithColumns(t *testing.T) {
	before := servetest.Foos(1)
	before.Resource.Columns = servetest.Columns(t, "A")
	description := *before.Description
	description.Resource.Columns = servetest.Columns(t, "B")
	after := *before
	after.Description = &description
	for shape, same := range map[codec.Shape]bool{codec.Object: true, codec.Metadata: true, codec.Table: false} {
		for _, p := range []projection.Projection{"", projection.WithoutManagedFields} {
			a, err := FormatFor(before, codec.Format{Shape: shape, Projection: p})
			if err != nil {
				t.Fatal(err)
			}
			b, err := FormatFor(&after, codec.Format{Shape: shape, Projection: p})
			if err != nil {
				t.Fatal(err)
			}
			if (a == b) != same {
				t.Errorf("%s %s: same encoder: %v", shape, p, a == b)
			}
		}
	}
}

// Clients make projections up.
func TestFormatsOfManyProjectionsAreBounded(t *testing.T) {
	c := servetest.Foos(1)
	for i := range 10 * maxProjected {
		f := codec.Format{Projection: projection.Projection(fmt.Sprint("keep=a", i))}
		one, err := FormatFor(c, f)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := FormatFor(c, f); again != one {
			t.Fatal("a Format in use is made twice")
		}
		if one.pinned() == 0 {
			t.Error("a memo counts no memory of the Format")
		}
	}
	v, _ := c.Encoders.Load(projectedKey{})
	if n := v.(*lru.Cache).Len(); n != maxProjected {
		t.Errorf("%d Formats", n)
	}
}
