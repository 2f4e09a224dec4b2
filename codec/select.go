package codec

import "sluice/codec/proto"

// newObjectEncoder returns the encoder from the stored bytes of r to the encoding and shape of f.
func newObjectEncoder(r *Resource, f Format) (objectEncoder, error) {
	switch {
	case r.Source == Protobuf && r.Style == Unstructured, r.Source != Protobuf && r.Source != JSON:
		return nil, ErrUnsupported
	case f.Shape == Table:
		return newTableEncoder(r, f)
	case r.Source == Protobuf:
		return fromProtobuf(r, f)
	}
	return fromJSON(r, f)
}

func fromProtobuf(r *Resource, f Format) (objectEncoder, error) {
	if f.Shape == Object {
		return bySchema(r.APIVersion(), r.Kind, f)
	}
	e, err := bySchema(f.MetaVersion.String(), "PartialObjectMetadata", f)
	if err != nil {
		return nil, err
	}
	return withoutConversion(metadataFromProtobuf(e), r)
}

// bySchema returns the encoder of a kind from Protobuf.
func bySchema(apiVersion, kind string, f Format) (objectEncoder, error) {
	if f.Encoding == Protobuf && f.Projection == "" {
		return passthrough{}, nil
	}
	schema, ok := proto.Lookup(apiVersion, kind)
	if !ok {
		return nil, ErrUnsupported
	}
	if t := f.Projection.Tree(); t != nil {
		var err error
		if schema, err = schema.Project(t); err != nil {
			return nil, err
		}
	}
	switch f.Encoding {
	case Protobuf:
		return alike(schema.AppendProtobuf), nil
	case CBOR:
		return apart{schema.AppendCBOR, schema.AppendCBORItem}, nil
	}
	return apart{schema.AppendJSON, schema.AppendJSONItem}, nil // of which framing makes YAML
}

// fromJSON refuses CBOR of typed resources: CBOR tags bytes, which JSON does not tell from text.
func fromJSON(r *Resource, f Format) (e objectEncoder, err error) {
	t := f.Projection.Tree()
	switch {
	case f.Shape == Metadata:
		e, err = withoutConversion(metadataFromJSON(f), r)
	case f.Encoding == Protobuf, f.Encoding == CBOR && r.Style == Typed:
		return nil, ErrUnsupported
	case f.Encoding == CBOR:
		e = jsonToCBOR
	case r.Style == Typed:
		e = typedJSON(r)
	case r.WholeFloats:
		e = withoutPoints
	case t != nil:
		return projected(t), nil
	default:
		return passthrough{}, nil
	}
	if t != nil && err == nil {
		e = pipe(projected(t), e)
	}
	return e, err
}

// newTableEncoder projects the objects in the rows, but the cells need all other fields: the negotiation allows only
// projection.WithoutManagedFields.
func newTableEncoder(r *Resource, f Format) (objectEncoder, error) {
	if r.Columns == nil || f.Encoding != JSON && f.Encoding != YAML {
		return nil, ErrUnsupported
	}
	e, err := newObjectEncoder(r, Format{Projection: f.Projection})
	if err != nil {
		return nil, err
	}
	meta, err := newObjectEncoder(r, Format{Shape: Metadata, MetaVersion: f.MetaVersion, Projection: f.Projection})
	if err != nil {
		return nil, err
	}
	return tableEncoder{object: e, metadata: meta, columns: r.Columns, version: f.MetaVersion.String(), include: f.Include}, nil
}
