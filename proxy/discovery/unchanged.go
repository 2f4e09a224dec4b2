package discovery

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/proxy/request"
)

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
	// crds are the CRDs, and crdPath is their path.
	crds    = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	crdPath = request.GroupVersionPath(crds.Group, crds.Version) + "/" + crds.Resource
)
