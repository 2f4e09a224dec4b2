package encode

import (
	"testing"

	"sluice/codec"
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
		a, err := FormatFor(before, codec.Format{Shape: shape})
		if err != nil {
			t.Fatal(err)
		}
		b, err := FormatFor(&after, codec.Format{Shape: shape})
		if err != nil {
			t.Fatal(err)
		}
		if (a == b) != same {
			t.Errorf("%s: same encoder: %v", shape, a == b)
		}
	}
}
