package codec

import (
	"sluice/codec/cbor"
	"sluice/codec/proto"
	"sluice/codec/table"
)

// newBody finds the way from r's stored bytes to f's encoding and shape.
func newBody(r *Resource, f Format) (body, error) {
	if r.Source == Protobuf && r.Style == Unstructured || r.Source != Protobuf && r.Source != JSON {
		return nil, ErrUnsupported
	}
	if f.Shape == Table {
		return newTableBody(r, f)
	}
	b, err := plainBody(r, f)
	if err == nil && f.Unmanaged {
		b = dropManagedFields(b, r)
	}
	return b, err
}

func plainBody(r *Resource, f Format) (body, error) {
	switch f.Shape {
	case Object:
		return objectBody(r, f.Encoding)
	case Metadata:
		return metadataBody(r, f)
	}
	return nil, ErrUnsupported
}

func objectBody(r *Resource, e Encoding) (body, error) {
	if e == Protobuf {
		if r.Source == Protobuf {
			return copied{}, nil
		}
		return nil, ErrUnsupported
	}
	b, err := objectJSON(r)
	if err != nil {
		return nil, err
	}
	if e != CBOR || r.Style == Unstructured {
		return encoded(b, e), nil
	}
	p, ok := b.(planJSON)
	if !ok {
		return nil, ErrUnsupported // JSON does not tell bytes, which CBOR tags, from text
	}
	return planCBOR(p), nil
}

// objectJSON is the way to JSON.
func objectJSON(r *Resource) (body, error) {
	switch {
	case r.Source == Protobuf:
		p, ok := proto.Lookup(r.APIVersion(), r.Kind)
		if !ok {
			return nil, ErrUnsupported
		}
		return planJSON{p}, nil
	case r.Style == Typed:
		return newTypedJSON(r), nil
	}
	return copied{}, nil
}

// encoded is the way from JSON to another encoding, one object at a time. YAML is made by the layout.
func encoded(b body, e Encoding) body {
	if e == CBOR {
		return through{b, cbor.AppendFromJSON}
	}
	return b
}

func metadataBody(r *Resource, f Format) (body, error) {
	version := f.MetaVersion.String()
	switch {
	case f.Encoding == Protobuf && r.Source == Protobuf:
		return metadataProto{}, nil
	case f.Encoding == Protobuf:
		return metadataProtoJSON{}, nil
	case r.Source == JSON:
		return encoded(metadataJSON{version}, f.Encoding), nil
	}
	p, ok := proto.Lookup(version, "PartialObjectMetadata")
	if !ok {
		return nil, ErrUnsupported
	}
	if f.Encoding == CBOR {
		return metadataPlan{planCBOR{p}}, nil
	}
	return metadataPlan{planJSON{p}}, nil
}

func newTableBody(r *Resource, f Format) (body, error) {
	columns, ok := columnsOf(r)
	if !ok || f.Encoding != JSON && f.Encoding != YAML {
		return nil, ErrUnsupported
	}
	b, err := objectJSON(r)
	if err != nil {
		return nil, err
	}
	if f.Unmanaged {
		b = dropManagedFields(b, r)
	}
	return tableBody{of: b, columns: columns, version: f.MetaVersion.String(), include: f.Include}, nil
}

// columnsOf returns how r is printed in Tables.
func columnsOf(r *Resource) (Columns, bool) {
	if r.Columns != nil {
		return r.Columns, true
	}
	if r.Style != Typed {
		return nil, false
	}
	return table.Builtin(r.Group, r.Version, r.Kind)
}
