package priority

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
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
// in the apiserver with another prefix. The library keeps the series of what is deleted for ever; here they end with the
// last request that they count.
func (l *Levels) Gatherer() prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all, err := legacyregistry.DefaultGatherer.Gather()
		present := l.present()
		var families []*dto.MetricFamily
		for _, f := range all {
			name, ok := strings.CutPrefix(f.GetName(), libraryPrefix)
			if !ok || !exposed.Has(name) {
				continue
			}
			inFlight := strings.HasPrefix(name, "current_executing_") || strings.HasPrefix(name, "current_inqueue_")
			f.Name = new(ownPrefix + name)
			f.Metric = slices.DeleteFunc(f.Metric, func(m *dto.Metric) bool {
				return !present.have(m) && (!inFlight || m.GetGauge().GetValue() == 0)
			})
			if len(f.Metric) > 0 {
				families = append(families, f)
			}
		}
		return families, err
	})
}

// names are values of labels, by the label.
type names map[string]sets.Set[string]

// present returns the names of the FlowSchemas and levels that there are, those included that the library always has.
func (l *Levels) present() names {
	l.mu.Lock()
	defer l.mu.Unlock()
	schemas, levels := sets.New[string](), sets.New[string]()
	for _, s := range slices.Concat(l.config.schemas, bootstrap.MandatoryFlowSchemas) {
		schemas.Insert(s.Name)
	}
	for _, p := range slices.Concat(l.config.levels, bootstrap.MandatoryPriorityLevelConfigurations) {
		levels.Insert(p.Name)
	}
	return names{"flow_schema": schemas, "priority_level": levels}
}

// have reports whether no label of m has another name.
func (n names) have(m *dto.Metric) bool {
	return !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool {
		of := n[l.GetName()]
		return of != nil && !of.Has(l.GetValue())
	})
}
