package negotiate

import (
	"testing"

	"sluice/codec"
)

// TestDropManagedFieldsIsHonouredWhereEnabled has the rows of the apiserver's own test, and more.
func TestDropManagedFieldsIsHonouredWhereEnabled(t *testing.T) {
	const drop = ";drop=metadata.managedFields"
	dropped := codec.Format{Unmanaged: true}
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
		{codec.MediaJSON + ";drop=spec, application/json", List, codec.Format{}, false},
		{codec.MediaJSON + ";drop=spec, application/yaml", List, codec.Format{Encoding: codec.YAML}, false},
		{codec.MediaJSON + ";drop=metadata.managedFields+spec, application/json", List, codec.Format{}, false},
		{codec.MediaJSON + ";drop=metadata.managedfields", List, codec.Format{}, true},
		{codec.MediaJSON + ";drop=spec", List, codec.Format{}, true},
		{codec.MediaJSON + drop + ";pretty=1", List, codec.Format{Unmanaged: true, Pretty: true}, false},
		{codec.MediaProtobuf + drop + ",application/json" + drop, List, codec.Format{Encoding: codec.Protobuf, Unmanaged: true}, false},
		{codec.MediaProtobuf + ";stream=watch" + drop, Watch, codec.Format{Encoding: codec.Protobuf, Unmanaged: true}, false},
		{codec.MediaYAML + drop, List, codec.Format{Encoding: codec.YAML, Unmanaged: true}, false},
		{codec.MediaCBOR + drop, List, codec.Format{Encoding: codec.CBOR, Unmanaged: true}, false},
		{codec.MediaJSON + asTable + drop, List, codec.Format{Shape: codec.Table, Unmanaged: true}, false},
		{codec.MediaJSON + asPOML + drop, List, codec.Format{Shape: codec.Metadata, Unmanaged: true}, false},
	} {
		r := Request{Accept: row.accept}
		f, ok := Format(r, Endpoint{Verb: row.verb, CBOR: true, DropManagedFields: true})
		if f != row.want || ok == row.refused {
			t.Errorf("%s: %+v, %v, want %+v", row.accept, f, ok, row.want)
		}
		off, ok := Format(r, Endpoint{Verb: row.verb, CBOR: true})
		if !ok || off.Unmanaged {
			t.Errorf("%s is not ignored: %+v, %v", row.accept, off, ok)
		}
	}
	r := Request{Accept: codec.MediaJSON + asTable + drop, IncludeObject: "None"}
	none, _ := Format(r, Endpoint{Verb: List, DropManagedFields: true})
	if want := (codec.Format{Shape: codec.Table, Include: codec.IncludeNone}); none != want {
		t.Errorf("a Table without objects: %+v", none)
	}
}
