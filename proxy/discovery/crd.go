package discovery

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/codec"
	"sluice/codec/json"
	"sluice/proxy/request"
)

// describeCustom sets the fields that come from the CRD. If Sluice may not read the CRD, objects can neither be selected by
// fields nor printed in Tables.
//
// The CRD is read from etcd. The handler that has answered so far may still serve by one that has been deleted or replaced.
func (d *Discovery) describeCustom(ctx context.Context, out *Description) error {
	crd, header, err := d.crd(ctx)
	switch {
	case forbidden(err):
		return nil
	case notServed(err):
		return d.lacking(ctx, CRDs, err)
	}
	if err != nil {
		return err
	}
	version := d.version(crd)
	if version == nil {
		return fmt.Errorf("CRD has no version %s: %w", d.gvr.Version, ErrNotCacheable)
	}
	r := &out.Resource
	if served, defined := (names{r.Kind, r.ListKind, r.Namespaced}), namesOf(crd); served != defined {
		return fmt.Errorf("%+v, but the CRD has %+v: %w", served, defined, errLagging)
	}
	out.Fields = customFields(version, r.Namespaced)
	out.declared = customColumns(version)
	out.revision = revisionOf(crd)
	if out.revision != nil && out.revision.recent(crd, header.Get("Date")) {
		out.FillAgain = time.Now().Add(lag)
	}
	return nil
}

// names must be equal at a handler and in the CRD.
type names struct {
	kind, listKind string
	namespaced     bool
}

// namesOf returns the names of a CRD.
func namesOf(crd json.Value) names {
	kind, _ := crd.Get("status", "acceptedNames", "kind").Text()
	listKind, _ := crd.Get("status", "acceptedNames", "listKind").Text()
	scope, _ := crd.Get("spec", "scope").Text()
	return names{kind, listKind, scope == "Namespaced"}
}

// Verify returns ErrChanged if a store that was built by was must be rebuilt. A nil error means that
// the store can go on, though perhaps with other columns.
func (d *Discovery) Verify(ctx context.Context, was *Description) error {
	_, err := d.change(ctx, was)
	return err
}

// Refresh returns the Description by which a store that was built by was goes on: was itself, or one with other columns, such
// as those of an apiserver of another release. It returns ErrChanged if the store must be rebuilt.
func (d *Discovery) Refresh(ctx context.Context, was *Description) (*Description, error) {
	crd, err := d.change(ctx, was)
	if err != nil {
		return nil, err
	}
	next := *was
	if crd != nil {
		next.declared, next.revision = customColumns(d.version(crd)), revisionOf(crd)
	}
	if next.Resource.Columns, err = d.columns(ctx, &was.Resource, was.Minor, next.declared); err != nil {
		return nil, err
	}
	if crd == nil && sameColumns(next.Resource.Columns, was.Resource.Columns) {
		return was, nil
	}
	return &next, nil
}

// change returns the present CRD if only printer columns differ from those of was, and nil if nothing
// differs. It returns ErrChanged for any other difference: the CRD says which fields objects have.
func (d *Discovery) change(ctx context.Context, was *Description) (json.Value, error) {
	if was.revision == nil {
		return nil, nil
	}
	crd, _, err := d.crd(ctx)
	if notServed(err) {
		return nil, ErrChanged
	}
	if err != nil {
		return nil, err
	}
	now := revisionOf(crd)
	switch {
	case was.revision.equal(now):
		was.revision.seen.Store(now.seen.Load())
		return nil, nil
	case was.revision.onlyColumnsChanged(now) && d.version(crd) != nil:
		return crd, nil
	}
	return nil, ErrChanged
}

// crd reads the CRD of the resource.
func (d *Discovery) crd(ctx context.Context) (json.Value, http.Header, error) {
	crd, header, err := d.getJSON(ctx, crdPath+"/"+d.gvr.GroupResource().String(), nil, codec.MediaJSON)
	if err != nil {
		return nil, nil, fmt.Errorf("CRD: %w", err)
	}
	return crd, header, nil
}

// version returns the described version of a CRD, or nil.
func (d *Discovery) version(crd json.Value) json.Value {
	for _, v := range crd.Get("spec", "versions").Elements {
		if name, _ := v.Get("name").Text(); name == d.gvr.Version {
			return v
		}
	}
	return nil
}

// refusedFor is for how long CRDs are not listed after the apiserver has refused that.
const refusedFor = 10 * time.Minute

// UnchangedAt returns a version at which the CRD is known to be the one of was, and which is current at
// some moment after the call; 0 if none is known, which Verify then has to find out. It costs the
// apiserver next to nothing, whatever the length of the CRD.
func (d *Discovery) UnchangedAt(ctx context.Context, was *Description) uint64 {
	if was.revision == nil {
		return ^uint64(0) // there is nothing to change
	}
	seen := was.revision.seen.Load()
	if seen == nil || time.Now().UnixNano() < d.refusedUntil.Load() {
		return 0
	}
	query := url.Values{"fieldSelector": {FieldName + "=" + d.gvr.GroupResource().String()}}
	list, _, err := d.getJSON(ctx, crdPath, query, acceptMetadataList)
	if forbidden(err) || notServed(err) {
		d.refusedUntil.Store(time.Now().Add(refusedFor).UnixNano())
	}
	if err != nil {
		return 0
	}
	for _, crd := range list.Get("items").Elements {
		if now, _ := crd.Get("metadata", "resourceVersion").Text(); now == *seen {
			text, _ := list.Get("metadata", "resourceVersion").Text()
			version, _ := strconv.ParseUint(text, 10, 64)
			return version
		}
	}
	return 0
}

var (
	// CRDs are the definitions of custom resources, and crdPath is their path.
	CRDs    = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	crdPath = request.GroupVersionPath(CRDs.Group, CRDs.Version) + "/" + CRDs.Resource
)
