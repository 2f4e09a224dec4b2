package harness

import (
	"fmt"
	"io"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics is a page of metrics, by the name of the metric.
type Metrics map[string]*dto.MetricFamily

// Sample is one value of a counter or gauge, with its labels.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// ParseMetrics parses a page in the Prometheus text format.
func ParseMetrics(page io.Reader) (Metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(page)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return families, nil
}

// Samples returns the samples of a counter or gauge; none if there is no such metric.
func (m Metrics) Samples(name string) []Sample {
	var samples []Sample
	for _, metric := range m[name].GetMetric() {
		labels := make(map[string]string, len(metric.GetLabel()))
		for _, l := range metric.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		// At most one of the two is set.
		samples = append(samples, Sample{labels, metric.GetCounter().GetValue() + metric.GetGauge().GetValue()})
	}
	return samples
}

// Sum returns the sum of the samples of a counter or gauge that have all of the given labels, written
// as name=value.
func (m Metrics) Sum(name string, labels ...string) float64 {
	sum := 0.0
	for _, s := range m.Samples(name) {
		if s.has(labels) {
			sum += s.Value
		}
	}
	return sum
}

func (s Sample) has(labels []string) bool {
	for _, label := range labels {
		name, value, _ := strings.Cut(label, "=")
		if s.Labels[name] != value {
			return false
		}
	}
	return true
}

// Metrics returns the metrics of the gateway.
func (s *Sluice) Metrics() (Metrics, error) {
	page, err := s.AdminGet("/metrics")
	if err != nil {
		return nil, err
	}
	return ParseMetrics(strings.NewReader(page))
}
