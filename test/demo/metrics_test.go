package main

import "testing"

func TestSum(t *testing.T) {
	const page = metrics(`# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{code="200",source="cache"} 3
requests_total{code="404",source="cache"} 4
requests_total{code="200",source="upstream"} 5
requests_total_other{source="cache"} 100
memory_bytes 1.5e+06
`)
	for _, tt := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"requests_total", nil, 12},
		{"requests_total", []string{`source="cache"`}, 7},
		{"requests_total", []string{`source="cache"`, `code="404"`}, 4},
		{"requests_total", []string{`source="nowhere"`}, 0},
		{"memory_bytes", nil, 1.5e6},
		{"absent", nil, 0},
	} {
		if got := page.sum(tt.name, tt.labels...); got != tt.want {
			t.Errorf("%s %q: got %v, want %v", tt.name, tt.labels, got, tt.want)
		}
	}
}
