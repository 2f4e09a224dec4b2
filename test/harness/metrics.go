package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
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
	return !slices.ContainsFunc(labels, func(label string) bool {
		name, value, _ := strings.Cut(label, "=")
		return s.Labels[name] != value
	})
}

// Metrics returns some metrics of the apiserver: its whole page takes a second to parse under the race detector.
func (c *ControlPlane) Metrics(ctx context.Context, names ...string) (Metrics, error) {
	page, err := c.Raw("admin").Get(ctx, "/metrics", "text/plain")
	if err == nil && page.Status != http.StatusOK {
		err = fmt.Errorf("metrics of the apiserver: status %d", page.Status)
	}
	if err != nil {
		return nil, err
	}
	var some bytes.Buffer
	for line := range bytes.Lines(page.Body) {
		name := bytes.TrimPrefix(line, []byte("# TYPE "))
		if slices.Contains(names, string(name[:bytes.IndexAny(name, "{ \n")])) {
			some.Write(line)
		}
	}
	return ParseMetrics(&some)
}

// PodWatches returns the number of watches of pods that the apiserver serves, its own included.
func (c *ControlPlane) PodWatches(ctx context.Context) (int, error) {
	m, err := c.Metrics(ctx, "apiserver_longrunning_requests")
	return int(m.Sum("apiserver_longrunning_requests", "resource=pods", "verb=WATCH")), err
}

// Metrics returns the metrics of the gateway.
func (s *Sluice) Metrics() (Metrics, error) {
	page, err := s.AdminGet("/metrics")
	if err != nil {
		return nil, err
	}
	return ParseMetrics(strings.NewReader(page))
}
