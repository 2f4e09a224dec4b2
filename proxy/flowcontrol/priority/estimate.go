package priority

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"sluice/proxy/request"
)

// ObjectsOf returns how many objects a resource has and about how many bytes they take, if that is known.
type ObjectsOf func(schema.GroupVersionResource) (objects, bytes int64, known bool)

// estimator estimates as the apiserver does how many seats a request takes: a list more than one, the more
// objects it reads.
type estimator struct {
	config   *fcrequest.WorkEstimatorConfig
	objects  ObjectsOf
	maxSeats func(level string) uint64
}

func (e estimator) estimate(r *http.Request, s *Seat) fcrequest.WorkEstimate {
	info := request.From(r.Context())
	resource := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	stats := func(string) (storage.Stats, error) {
		objects, bytes, known := e.objects(resource)
		if !known {
			return storage.Stats{}, fcrequest.ObjectCountNotFoundErr // one seat
		}
		return storage.Stats{ObjectCount: objects, EstimatedAverageObjectSizeBytes: bytes / max(1, objects)}, nil
	}
	// Watches through Sluice cost the apiserver nothing when somebody writes.
	watches := func(*apirequest.RequestInfo) int { return 0 }
	return fcrequest.NewWorkEstimator(stats, watches, e.config, e.maxSeats).EstimateWork(r, s.Schema, s.Level)
}
