package codec

import "sluice/codec/framing"

// newFraming returns the text around objects of r in f.
func newFraming(r *Resource, f Format) (framing.Framing, error) {
	list := listEnvelope(r, f)
	switch {
	case f.Encoding == Protobuf && f.Shape == Metadata:
		return &framing.Protobuf{
			List: list, APIVersion: f.MetaVersion.String(), Kind: "PartialObjectMetadata",
			ItemsFirst: f.MetaVersion == MetaV1beta1,
		}, nil
	case f.Encoding == Protobuf:
		return &framing.Protobuf{List: list, APIVersion: r.APIVersion(), Kind: r.Kind}, nil
	case f.Encoding == CBOR:
		return &framing.CBOR{List: list}, nil
	case f.Encoding == YAML:
		return framing.NewYAML(list)
	case f.Pretty:
		return &framing.PrettyJSON{JSON: framing.JSON{List: list}}, nil
	}
	return &framing.JSON{List: list}, nil
}

func listEnvelope(r *Resource, f Format) framing.List {
	switch f.Shape {
	case Table:
		return framing.List{
			APIVersion: f.MetaVersion.String(), Kind: "Table", ColumnDefinitions: r.Columns.AppendDefinitions(nil),
			NullWhenEmpty: r.Columns.NullWhenEmpty(),
		}
	case Metadata:
		return framing.List{
			APIVersion: f.MetaVersion.String(), Kind: "PartialObjectMetadataList", NullWhenEmpty: true,
		}
	}
	return framing.List{APIVersion: r.APIVersion(), Kind: r.ListKind, Unstructured: r.Style == Unstructured}
}
