package priority

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"sluice/proxy/request"
)

// estimator estimates as the apiserver does how many seats a request takes: a list more than one, the more
// objects it reads.
type estimator struct {
	config    *fcrequest.WorkEstimatorConfig
	resources Resources
	maxSeats  func(level string) uint64
}

func (e estimator) estimate(r *http.Request, s *seat) fcrequest.WorkEstimate {
	info := request.From(r.Context())
	resource := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	stats := func(string) (storage.Stats, error) {
		c := e.resources.Peek(resource)
		if c == nil {
			return storage.Stats{}, fcrequest.ObjectCountNotFoundErr // one seat
		}
		cached := c.Store.Stats()
		objects := int64(cached.Objects)
		return storage.Stats{ObjectCount: objects, EstimatedAverageObjectSizeBytes: cached.DataBytes / max(1, objects)}, nil
	}
	// Watches through Sluice cost the apiserver nothing when somebody writes.
	watches := func(*apirequest.RequestInfo) int { return 0 }
	return fcrequest.NewWorkEstimator(stats, watches, e.config, e.maxSeats).EstimateWork(r, s.schema, s.level)
}
