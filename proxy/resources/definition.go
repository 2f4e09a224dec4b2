package resources

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"sluice/cache/reflector"
	"sluice/codec"
	"sluice/codec/json"
	"sluice/codec/table"
)

// definition is what a CRD says about one of its versions, as far as it
// matters here.
type definition struct {
	fields  *fields
	columns codec.Columns // nil if they cannot be printed here
	// edition is the state of the CRD that is known; nil if it cannot be read.
	// Those who serve from a store share it.
	edition atomic.Pointer[edition]
	read    time.Time // when it was read first
}

// definitionPath is where the CRD of a resource lies.
func (s *source) definitionPath() string {
	return "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + s.gvr.Resource + "." + s.gvr.Group
}

// define reads the CRD of an unstructured resource. One that has none, or none
// that can be read, can neither be selected by fields nor printed.
func (s *source) define(ctx context.Context, namespaced bool) (*definition, error) {
	crd, _, err := s.get(ctx, s.definitionPath(), nil, codec.MediaJSON)
	if errors.Is(err, reflector.ErrAbsent) || errors.Is(err, reflector.ErrForbidden) {
		return &definition{fields: &fields{}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("definition: %w", err)
	}
	for _, v := range json.Value(crd).Get("spec", "versions").Elements {
		if name, _ := v.Get("name").Text(); name == s.gvr.Version {
			d := newDefinition(v, namespaced)
			d.edition.Store(editionOf(crd))
			return d, nil
		}
	}
	return nil, fmt.Errorf("definition lacks version %s: %w", s.gvr.Version, reflector.ErrAbsent)
}

func newDefinition(version json.Value, namespaced bool) *definition {
	d := &definition{read: time.Now()}
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

// verdict is what has become of a definition.
type verdict uint8

const (
	unchanged verdict = iota
	reprinted         // nothing but columns has changed
	another
)

// review looks what has become of the resource's definition since the store was
// built. A change is more than columns, as a rule: it says which fields objects
// have. For a moment after it the upstream goes on to send, by the watches that
// are open, objects without fields that the new definition brought. now is the
// version's new definition if it was only reprinted.
func (s *source) review(ctx context.Context) (v verdict, now *definition, err error) {
	if s.definition == nil || s.definition.edition.Load() == nil {
		return unchanged, nil, nil
	}
	crd, _, err := s.get(ctx, s.definitionPath(), nil, codec.MediaJSON)
	if errors.Is(err, reflector.ErrAbsent) {
		return another, nil, nil
	}
	if err != nil {
		return another, nil, fmt.Errorf("definition: %w", err)
	}
	then, next := s.definition.edition.Load(), editionOf(crd)
	switch {
	case then.same(next):
		return unchanged, nil, nil
	case !then.reprinted(next) || !s.settled():
		return another, nil, nil
	}
	for _, v := range json.Value(crd).Get("spec", "versions").Elements {
		if name, _ := v.Get("name").Text(); name == s.gvr.Version {
			now = newDefinition(v, s.resource.Namespaced)
			now.edition.Store(next)
			return reprinted, now, nil
		}
	}
	return another, nil, nil
}

// settled reports whether the upstream surely serves the resource by the
// definition that is known.
func (s *source) settled() bool {
	return s.definition != nil && s.definition.edition.Load() != nil && time.Since(s.definition.read) >= settled
}

// reprint takes over the columns of a definition. The store goes on.
func (s *source) reprint(ctx context.Context, now *definition) error {
	s.resource.Columns = now.columns
	var err error
	if s.printable, err = s.tables(ctx); err != nil {
		return err
	}
	s.definition.columns = now.columns
	s.definition.edition.Store(now.edition.Load())
	s.reprinted(now.columns, s.printable)
	return nil
}

// aggregated reports whether another server than the upstream itself serves the
// resource. What such a server shows may depend on who asks, beyond what a
// SubjectAccessReview can tell, so it must not be shared.
func (s *source) aggregated(ctx context.Context) (bool, error) {
	if s.gvr.Group == "" {
		return false, nil
	}
	service, _, err := s.get(ctx, "/apis/apiregistration.k8s.io/v1/apiservices/"+s.gvr.Version+"."+s.gvr.Group, nil, codec.MediaJSON)
	if errors.Is(err, reflector.ErrAbsent) {
		return false, nil // no aggregator serves it
	}
	if err != nil {
		return false, fmt.Errorf("API service: %w", err)
	}
	kind := json.Value(service).Get("spec", "service").Kind()
	return kind == json.Object, nil
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
		if errors.As(err, &status) && !status.passing() {
			return false, nil
		}
		return false, fmt.Errorf("columns: %w", err)
	}
	return bytes.Equal(json.Value(body).Get("columnDefinitions"), columns.AppendDefinitions(nil)), nil
}
