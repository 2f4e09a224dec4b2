package see

import "github.com/prometheus/client_golang/prometheus"

// Collectors returns collectors of the state at the last sample.
func (s *Sampler) Collectors() (all []prometheus.Collector) {
	for _, state := range States() {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sluice_status", ConstLabels: prometheus.Labels{"state": state},
			Help: "1 for the state of Sluice that the status page shows, 0 for the others; sampled every 15 s.",
		}, func() float64 {
			if s.State() == state {
				return 1
			}
			return 0
		}))
	}
	return all
}
