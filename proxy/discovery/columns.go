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

// columnsMatch reports whether the apiserver's Tables of the resource have the given columns or, if
// these are nil, the built-in ones. Another release may word or arrange its columns differently.
func (d *Discovery) columnsMatch(ctx context.Context, r *codec.Resource, columns codec.Columns) (bool, error) {
	if columns == nil {
		builtin, ok := table.Builtin(r.Group, r.Version, r.Kind)
		if !ok || r.Style != codec.Typed {
			return false, nil
		}
		columns = builtin
	}
	body, _, err := d.upstream.Get(ctx, d.ResourcePath(), url.Values{"limit": {"1"}, "includeObject": {"None"}}, acceptTable)
	switch {
	case err != nil && transient(err):
		return false, fmt.Errorf("columns: %w", err)
	case err != nil:
		return false, nil
	}
	return bytes.Equal(json.Value(body).Get("columnDefinitions"), columns.AppendDefinitions(nil)), nil
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
