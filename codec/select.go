package codec

import "sluice/codec/proto"

// newObjectEncoder returns the encoder from the stored bytes of r to the encoding and shape of f.
func newObjectEncoder(r *Resource, f Format) (objectEncoder, error) {
	if r.Source == Protobuf && r.Style == Unstructured || r.Source != Protobuf && r.Source != JSON {
		return nil, ErrUnsupported
	}
	switch f.Shape {
	case Object:
		e, err := wholeObject(r, f)
		return projectJSON(e, r, f), err
	case Metadata:
		if r.Source == JSON {
			return projectJSON(metadataFromJSON(r, f), r, f), nil
		}
		e, err := metadataOnly(f)
		return dropConversionAnnotations(e, r), err
	case Table:
		return newTableEncoder(r, f)
	}
	return nil, ErrUnsupported
}

// projectJSON returns e for the fields of f, if objects are stored as JSON. Those in Protobuf are projected by their schema.
func projectJSON(e objectEncoder, r *Resource, f Format) objectEncoder {
	t := f.Projection.Tree()
	if t == nil || r.Source != JSON || e == nil {
		return e
	}
	if _, same := e.(passthrough); same {
		return projected(t)
	}
	return pipe(projected(t), e)
}

// schemaOf returns the schema of a kind, with the fields of f.
func schemaOf(apiVersion, kind string, f Format) (*proto.Schema, error) {
	schema, ok := proto.Lookup(apiVersion, kind)
	if !ok {
		return nil, ErrUnsupported
	}
	if t := f.Projection.Tree(); t != nil {
		return schema.Project(t)
	}
	return schema, nil
}

func wholeObject(r *Resource, f Format) (objectEncoder, error) {
	switch f.Encoding {
	case Protobuf:
		return wholeProtobuf(r, f)
	case CBOR:
		return wholeCBOR(r, f)
	default:
		return wholeJSON(r, f) // of which framing makes YAML
	}
}

func wholeProtobuf(r *Resource, f Format) (objectEncoder, error) {
	switch {
	case r.Source != Protobuf:
		return nil, ErrUnsupported
	case f.Projection == "":
		return passthrough{}, nil
	}
	schema, err := schemaOf(r.APIVersion(), r.Kind, f)
	if err != nil {
		return nil, err
	}
	return alike(schema.AppendProtobuf), nil
}

func wholeJSON(r *Resource, f Format) (objectEncoder, error) {
	switch {
	case r.Source == Protobuf:
		schema, err := schemaOf(r.APIVersion(), r.Kind, f)
		if err != nil {
			return nil, err
		}
		return apart{schema.AppendJSON, schema.AppendJSONItem}, nil
	case r.Style == Typed:
		return typedJSON(r), nil
	case r.WholeFloats:
		return withoutPoints, nil
	}
	return passthrough{}, nil
}

// wholeCBOR refuses typed resources stored as JSON: CBOR tags bytes, which JSON does not tell from text.
func wholeCBOR(r *Resource, f Format) (objectEncoder, error) {
	switch {
	case r.Style == Unstructured:
		return jsonToCBOR, nil
	case r.Source != Protobuf:
		return nil, ErrUnsupported
	}
	schema, err := schemaOf(r.APIVersion(), r.Kind, f)
	if err != nil {
		return nil, err
	}
	return apart{schema.AppendCBOR, schema.AppendCBORItem}, nil
}

// metadataOnly returns the encoder of metadata from Protobuf.
func metadataOnly(f Format) (objectEncoder, error) {
	if f.Encoding == Protobuf && f.Projection == "" {
		return metadataProtobuf, nil
	}
	schema, err := schemaOf(f.MetaVersion.String(), "PartialObjectMetadata", f)
	switch {
	case err != nil:
		return nil, err
	case f.Encoding == Protobuf:
		return metadataFromProtobuf(schema.AppendProtobuf), nil
	case f.Encoding == CBOR:
		return metadataFromProtobuf(schema.AppendCBOR), nil
	}
	return metadataFromProtobuf(schema.AppendJSON), nil
}

// newTableEncoder projects the objects in the rows, but the cells need all other fields: the negotiation allows only
// projection.WithoutManagedFields.
func newTableEncoder(r *Resource, f Format) (objectEncoder, error) {
	if r.Columns == nil || f.Encoding != JSON && f.Encoding != YAML {
		return nil, ErrUnsupported
	}
	e, err := wholeJSON(r, f)
	if err != nil {
		return nil, err
	}
	meta, err := newObjectEncoder(r, Format{Shape: Metadata, MetaVersion: f.MetaVersion, Projection: f.Projection})
	if err != nil {
		return nil, err
	}
	return tableEncoder{
		object: projectJSON(e, r, f), metadata: meta, columns: r.Columns, version: f.MetaVersion.String(), include: f.Include,
	}, nil
}
