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

const acceptTable = codec.MediaJSON + ";as=Table;g=meta.k8s.io;v=v1"

// setColumns sets the columns of a built-in kind as the release of the apiserver prints them, if they are known here.
func (d *Discovery) setColumns(ctx context.Context, out *Description) error {
	r := &out.Resource
	if _, known := table.Builtin(r.Group, r.Version, r.Kind); !known {
		return nil
	}
	served, err := d.definitions(ctx)
	if err != nil {
		return err
	}
	if columns, ok := table.Matching(r.Group, r.Version, r.Kind, served); ok {
		r.Columns, out.ColumnsMatch = columns, true
	}
	return nil
}

// columnsMatch reports whether the apiserver's Tables of a custom resource have the columns of its CRD.
func (d *Discovery) columnsMatch(ctx context.Context, columns codec.Columns) (bool, error) {
	if columns == nil {
		return false, nil
	}
	served, err := d.definitions(ctx)
	return err == nil && bytes.Equal(served, columns.AppendDefinitions(nil)), err
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
func customColumns(version json.Value) codec.Columns {
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
