package negotiate

import (
	"testing"

	"sluice/codec"
	"sluice/codec/projection"
)

// TestProjectionsAreHonouredWhereEnabled has the rows of the apiserver's own test, and more.
func TestProjectionsAreHonouredWhereEnabled(t *testing.T) {
	const drop = ";drop=metadata.managedFields"
	dropped := codec.Format{Projection: projection.WithoutManagedFields}
	for _, row := range []struct {
		accept  string
		verb    Verb
		want    codec.Format
		refused bool
	}{
		{codec.MediaJSON + drop, Get, dropped, false},
		{codec.MediaJSON + drop, Watch, dropped, false},
		{codec.MediaJSON + `;drop="metadata.managedFields"`, List, codec.Format{}, true}, // the parser keeps the quotes
		{"*/*" + drop, List, dropped, false},
		{codec.MediaJSON + ";drop=", List, codec.Format{}, false},
		{codec.MediaJSON + "; drop=kind, application/json", List, codec.Format{}, false},
		{codec.MediaJSON + ";drop=kind, application/yaml", List, codec.Format{Encoding: codec.YAML}, false},
		{codec.MediaJSON + ";drop=metadata.managedFields+kind, application/json", List, codec.Format{}, false},
		{codec.MediaJSON + ";drop=spec", List, codec.Format{Projection: "drop=spec"}, false},
		{codec.MediaJSON + ";drop=spec+status+spec;keep=", List, codec.Format{Projection: "drop=spec+status"}, false},
		{codec.MediaJSON + ";keep=spec.containers[*].image;quiet=1", Watch, codec.Format{Projection: "keep=spec.containers[*].image", Quiet: true}, false},
		{codec.MediaJSON + ";keep=spec;quiet=1", List, codec.Format{Projection: "keep=spec"}, false},
		{codec.MediaJSON + ";quiet=1", Watch, codec.Format{}, false},
		{codec.MediaJSON + ";keep=spec;drop=status", List, codec.Format{}, true},
		{codec.MediaJSON + asTable + ";keep=spec", List, codec.Format{Shape: codec.Table}, false},
		{codec.MediaJSON + asPOML + ";keep=metadata.annotations", List, codec.Format{Shape: codec.Metadata, Projection: "keep=metadata.annotations"}, false},
		{codec.MediaJSON + drop + ";pretty=1", List, codec.Format{Projection: projection.WithoutManagedFields, Pretty: true}, false},
		{codec.MediaProtobuf + drop + ",application/json" + drop, List, codec.Format{Encoding: codec.Protobuf, Projection: projection.WithoutManagedFields}, false},
		{codec.MediaProtobuf + ";stream=watch" + drop, Watch, codec.Format{Encoding: codec.Protobuf, Projection: projection.WithoutManagedFields}, false},
		{codec.MediaYAML + drop, List, codec.Format{Encoding: codec.YAML, Projection: projection.WithoutManagedFields}, false},
		{codec.MediaCBOR + drop, List, codec.Format{Encoding: codec.CBOR, Projection: projection.WithoutManagedFields}, false},
		{codec.MediaJSON + asTable + drop, List, codec.Format{Shape: codec.Table, Projection: projection.WithoutManagedFields}, false},
		{codec.MediaJSON + asPOML + drop, List, codec.Format{Shape: codec.Metadata, Projection: projection.WithoutManagedFields}, false},
	} {
		r := Request{Accept: row.accept}
		f, ok := Format(r, Endpoint{Verb: row.verb, CBOR: true, Projections: true})
		if f != row.want || ok == row.refused {
			t.Errorf("%s: %+v, %v, want %+v", row.accept, f, ok, row.want)
		}
		off, ok := Format(r, Endpoint{Verb: row.verb, CBOR: true})
		if !ok || off.Projection != "" {
			t.Errorf("%s is not ignored: %+v, %v", row.accept, off, ok)
		}
	}
	r := Request{Accept: codec.MediaJSON + asTable + drop, IncludeObject: "None"}
	none, _ := Format(r, Endpoint{Verb: List, Projections: true})
	if want := (codec.Format{Shape: codec.Table, Include: codec.IncludeNone}); none != want {
		t.Errorf("a Table without objects: %+v", none)
	}
}
