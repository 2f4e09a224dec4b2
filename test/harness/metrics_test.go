package harness

import (
	"strings"
	"testing"
)

const metricsPage = `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{code="200",reason="\"quoted\", with a comma"} 3
requests_total{code="404",reason="a"} 4
requests_total{code="200",reason="a"} 5e+00
# TYPE requests_total_other counter
requests_total_other{code="200"} 100
# TYPE memory_bytes gauge
memory_bytes 1.5e+06
`

func TestSumAddsSamplesWithAllLabels(t *testing.T) {
	m, err := ParseMetrics(strings.NewReader(metricsPage))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"requests_total", nil, 12},
		{"requests_total", []string{"code=200"}, 8},
		{"requests_total", []string{"code=200", "reason=a"}, 5},
		{"requests_total", []string{"code=500"}, 0},
		{"memory_bytes", nil, 1.5e6},
		{"absent", nil, 0},
	} {
		if got := m.Sum(tt.name, tt.labels...); got != tt.want {
			t.Errorf("%s %q: got %v, want %v", tt.name, tt.labels, got, tt.want)
		}
	}
}
