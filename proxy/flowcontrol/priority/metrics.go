package priority

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-base/metrics/legacyregistry"
)

const (
	libraryPrefix = "apiserver_flowcontrol_"
	ownPrefix     = "sluice_flowcontrol_"
)

// exposed are the metrics of the library that Sluice exposes, without prefix. Their labels are names of
// priority levels and FlowSchemas, which only the operators of the cluster create.
var exposed = sets.New(
	"current_executing_requests", "current_executing_seats", "current_inqueue_requests", "current_limit_seats",
	"dispatched_requests_total", "nominal_limit_seats", "rejected_requests_total", "request_wait_duration_seconds",
)

// Gatherer returns the metrics of the library, which are those of the process, by the names that they have
// in the apiserver with another prefix.
func Gatherer() prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all, err := legacyregistry.DefaultGatherer.Gather()
		var families []*dto.MetricFamily
		for _, f := range all {
			if name, ok := strings.CutPrefix(f.GetName(), libraryPrefix); ok && exposed.Has(name) {
				f.Name = new(ownPrefix + name)
				families = append(families, f)
			}
		}
		return families, err
	})
}
