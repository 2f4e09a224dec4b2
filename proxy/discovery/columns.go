package discovery

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"net/url"

	"sluice/codec"
	"sluice/codec/json"
	"sluice/codec/table"
)

const (
	acceptTable        = codec.MediaJSON + ";as=Table;g=meta.k8s.io;v=v1"
	acceptMetadataList = codec.MediaJSON + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// columns returns the columns of the apiserver's Tables of a resource, whose CRD declares others or not; nil if they cannot be
// printed here. The release is as for table.Builtin.
func (d *Discovery) columns(ctx context.Context, r *codec.Resource, release int, declared *table.Columns) (*table.Columns, error) {
	if r.Style == codec.Unstructured && declared == nil {
		return nil, nil
	}
	definitions, err := d.definitions(ctx)
	if err != nil {
		return nil, err
	}
	columns, ok := (*table.Columns)(nil), false
	if r.Style == codec.Typed {
		columns, ok = table.Builtin(r.Group, r.Version, r.Kind, release, definitions)
	} else {
		columns, ok = declared.As(definitions)
	}
	if !ok {
		return nil, nil
	}
	return columns, nil
}

// sameColumns reports whether Tables have the same columns.
func sameColumns(a, b *table.Columns) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.AppendDefinitions(nil), b.AppendDefinitions(nil))
}

// definitions returns the columnDefinitions of the apiserver's Tables of the resource, nil if it serves none. No object
// has the selected name: the row of one may be a thousand times as long as the object. The watch cache answers for any
// version, while etcd would read all objects to find none.
func (d *Discovery) definitions(ctx context.Context) (json.Value, error) {
	body, _, err := d.upstream.Get(ctx, d.ResourcePath(), url.Values{
		"limit": {"1"}, "includeObject": {"None"}, "resourceVersion": {"0"}, "fieldSelector": {FieldName + "=-"},
	}, acceptTable)
	switch {
	case err != nil && transient(err):
		return nil, fmt.Errorf("columns: %w", err)
	case err != nil:
		return nil, nil
	}
	return json.Value(body).Get("columnDefinitions"), nil
}

// customColumns returns the printer columns of a version of a CRD, or nil if Tables with these
// columns cannot be written here.
func customColumns(version json.Value) *table.Columns {
	var declared []table.PrinterColumn
	if columns := version.Get("additionalPrinterColumns"); columns != nil {
		if err := stdjson.Unmarshal(columns, &declared); err != nil {
			return nil
		}
	}
	columns, err := table.Custom(declared)
	if err != nil {
		return nil
	}
	return columns
}
