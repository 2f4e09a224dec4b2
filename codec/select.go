package codec

import "sluice/codec/proto"

// newObjectEncoder returns the encoder from the stored bytes of r to the encoding and shape of f.
func newObjectEncoder(r *Resource, f Format) (objectEncoder, error) {
	if r.Source == Protobuf && r.Style == Unstructured || r.Source != Protobuf && r.Source != JSON {
		return nil, ErrUnsupported
	}
	switch f.Shape {
	case Object:
		e, err := wholeObject(r, f.Encoding)
		return dropManagedFields(e, r, f), err
	case Metadata:
		if r.Source == JSON {
			return metadataFromJSON(r, f), nil
		}
		e, err := metadataOnly(f)
		return dropManagedFields(dropConversionAnnotations(e, r), r, f), err
	case Table:
		return newTableEncoder(r, f)
	}
	return nil, ErrUnsupported
}

// dropManagedFields returns e for objects without metadata.managedFields, if f leaves them out.
func dropManagedFields(e objectEncoder, r *Resource, f Format) objectEncoder {
	if !f.Unmanaged || e == nil {
		return e
	}
	drop := withoutManagedFields(r.Source)
	if _, same := e.(passthrough); same {
		return drop
	}
	return pipe(drop, e)
}

func wholeObject(r *Resource, encoding Encoding) (objectEncoder, error) {
	switch encoding {
	case Protobuf:
		if r.Source != Protobuf {
			return nil, ErrUnsupported
		}
		return passthrough{}, nil
	case CBOR:
		return wholeCBOR(r)
	default:
		return wholeJSON(r) // of which framing makes YAML
	}
}

func wholeJSON(r *Resource) (objectEncoder, error) {
	switch {
	case r.Source == Protobuf:
		schema, ok := proto.Lookup(r.APIVersion(), r.Kind)
		if !ok {
			return nil, ErrUnsupported
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
func wholeCBOR(r *Resource) (objectEncoder, error) {
	if r.Style == Unstructured {
		return jsonToCBOR, nil
	}
	schema, ok := proto.Lookup(r.APIVersion(), r.Kind)
	if r.Source != Protobuf || !ok {
		return nil, ErrUnsupported
	}
	return apart{schema.AppendCBOR, schema.AppendCBORItem}, nil
}

// metadataOnly returns the encoder of metadata from Protobuf.
func metadataOnly(f Format) (objectEncoder, error) {
	if f.Encoding == Protobuf {
		return metadataProtobuf, nil
	}
	schema, ok := proto.Lookup(f.MetaVersion.String(), "PartialObjectMetadata")
	if !ok {
		return nil, ErrUnsupported
	}
	if f.Encoding == CBOR {
		return metadataFromProtobuf(schema.AppendCBOR), nil
	}
	return metadataFromProtobuf(schema.AppendJSON), nil
}

func newTableEncoder(r *Resource, f Format) (objectEncoder, error) {
	if r.Columns == nil || f.Encoding != JSON && f.Encoding != YAML {
		return nil, ErrUnsupported
	}
	e, err := wholeJSON(r)
	if err != nil {
		return nil, err
	}
	meta, err := newObjectEncoder(r, Format{Shape: Metadata, MetaVersion: f.MetaVersion, Unmanaged: f.Unmanaged})
	if err != nil {
		return nil, err
	}
	return tableEncoder{
		object: dropManagedFields(e, r, f), metadata: meta, columns: r.Columns, version: f.MetaVersion.String(), include: f.Include,
	}, nil
}
