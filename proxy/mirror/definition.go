package mirror

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net/url"

	"sluice/cache/feed"
	"sluice/codec"
	"sluice/codec/json"
	"sluice/codec/table"
)

// definition is what a CRD says about one of its versions, as far as it
// matters here.
type definition struct {
	fields  *fields
	columns codec.Columns // nil if they cannot be printed here
	raw     []byte        // for comparison: a change of it makes another resource
}

// definitionPath is where the CRD of a resource lies.
func (s *source) definitionPath() string {
	return "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + s.gvr.Resource + "." + s.gvr.Group
}

// define reads the CRD of an unstructured resource. One that has none, or none
// that can be read, can neither be selected by fields nor printed.
func (s *source) define(ctx context.Context, namespaced bool) (*definition, error) {
	crd, _, err := s.get(ctx, s.definitionPath(), nil, codec.MediaJSON)
	if errors.Is(err, feed.ErrAbsent) || errors.Is(err, feed.ErrForbidden) {
		return &definition{fields: &fields{}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("definition: %w", err)
	}
	for _, v := range json.Value(crd).Get("spec", "versions").Elements {
		if name, _ := v.Get("name").Text(); name == s.gvr.Version {
			return newDefinition(v, namespaced), nil
		}
	}
	return nil, fmt.Errorf("definition lacks version %s: %w", s.gvr.Version, feed.ErrAbsent)
}

func newDefinition(version json.Value, namespaced bool) *definition {
	d := &definition{raw: bytes.Join([][]byte{version.Get("selectableFields"), version.Get("additionalPrinterColumns")}, []byte{0})}
	var err error
	if d.fields, err = customFields(version, namespaced); err != nil {
		d.fields = &fields{}
	}
	var declared []table.PrinterColumn
	if columns := version.Get("additionalPrinterColumns"); columns != nil {
		if err := stdjson.Unmarshal(columns, &declared); err != nil {
			return d
		}
	}
	if columns, err := table.Custom(declared); err == nil {
		d.columns = columns
	}
	return d
}

// changed reports whether the CRD says something else now than when the store
// was built. What cannot be found out has not changed.
func (s *source) changed(ctx context.Context) bool {
	if s.definition == nil || s.definition.raw == nil {
		return false
	}
	now, err := s.define(ctx, s.resource.Namespaced)
	return err == nil && !bytes.Equal(now.raw, s.definition.raw)
}

// tables reports whether the upstream's Tables of the resource have the columns
// that are known here. Another release may word or arrange them differently.
func (s *source) tables(ctx context.Context) (bool, error) {
	columns := s.resource.Columns
	if columns == nil {
		known, ok := table.Builtin(s.resource.Group, s.resource.Version, s.resource.Kind)
		if !ok || s.resource.Style != codec.Typed {
			return false, nil
		}
		columns = known
	}
	as := codec.MediaJSON + ";as=Table;g=meta.k8s.io;v=v1"
	body, _, err := s.get(ctx, collectionPath(s.gvr), url.Values{"limit": {"1"}, "includeObject": {"None"}}, as)
	if err != nil {
		var status *statusError
		if errors.As(err, &status) {
			return false, nil
		}
		return false, fmt.Errorf("columns: %w", err)
	}
	return bytes.Equal(json.Value(body).Get("columnDefinitions"), columns.AppendDefinitions(nil)), nil
}
