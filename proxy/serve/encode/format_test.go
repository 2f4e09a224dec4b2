package encode

import (
	"errors"
	"testing"

	"sluice/codec"
	"sluice/test/support/servetest"
)

func TestRequestsForOneFormatShareOneEncoder(t *testing.T) {
	c := servetest.Foos(1)
	first, err := FormatFor(c, codec.Format{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := FormatFor(c, codec.Format{}); err != nil || again != first {
		t.Errorf("second encoder is another: %v", err)
	}
	if other, err := FormatFor(c, codec.Format{Pretty: true}); err != nil || other == first {
		t.Errorf("encoder of another format is the same: %v", err)
	}
}

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

func TestTablesNeedTheColumnsOfTheAPIServer(t *testing.T) {
	c := servetest.Foos(1)
	if _, err := FormatFor(c, codec.Format{Shape: codec.Table}); !errors.Is(err, codec.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}
