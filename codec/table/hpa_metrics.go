package table

import (
	"fmt"

	"sluice/codec/json"
)

// metricFields maps the type of a metric to the member that holds its source.
var metricFields = map[string]string{
	"External":          "external",
	"Object":            "object",
	"Pods":              "pods",
	"Resource":          "resource",
	"ContainerResource": "containerResource",
}

// metricSource returns the type of a metric and the name of the member that holds its source.
func metricSource(spec json.Value) (typ, field string) {
	typ, _ = spec.Get("type").Text()
	return typ, metricFields[typ]
}

// optional returns v, or nil if it is null.
func optional(v json.Value) json.Value {
	if present(v) {
		return v
	}
	return nil
}

// elementAt returns element n of an array, or nil.
func elementAt(array json.Value, n int) json.Value {
	for i, v := range array.Elements {
		if i == n {
			return v
		}
	}
	return nil
}

// targetsV2 prints the first metrics, each with the status at the same index.
func targetsV2(dst []byte, r *row) []byte {
	statuses := r.status.Get("currentMetrics")
	list := shortlist{max: 2, sep: ", "}
	for i, spec := range r.spec.Get("metrics").Elements {
		var ok bool
		if dst, ok = list.add(dst); ok {
			m := metricV2(spec, elementAt(statuses, i))
			dst = appendMetric(dst, &m)
		}
	}
	if list.n == 0 {
		return append(dst, none...)
	}
	return list.end(dst)
}

func metricV2(spec, status json.Value) (m metric) {
	typ, field := metricSource(spec)
	source, current := spec.Get(field), status.Get(field)
	m.source, m.resource = typ, source.Get("name")
	m.target = measuresV2(source.Get("target"))
	m.current = measuresV2(current.Get("current"))
	m.measured = present(current)
	return m
}

func measuresV2(v json.Value) measures {
	return measures{
		value:       optional(v.Get("value")),
		average:     optional(v.Get("averageValue")),
		utilization: optional(v.Get("averageUtilization")),
	}
}

// Version 1 has a field for only one metric, CPU utilization. The apiserver stores the other
// metrics, and the current values of all metrics, in annotations.
const (
	specsAnnotation    = "autoscaling.alpha.kubernetes.io/metrics"
	statusesAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
)

// targetsV1 is targetsV2 for version 1. That version does not record the position of the CPU among
// other metrics, nor that it occurs twice, nor whether an amount is missing or zero: such objects
// are ErrUndetermined.
func targetsV1(dst []byte, r *row) []byte {
	specs := embedded(r.annotations.Get(specsAnnotation))
	statuses := embedded(r.annotations.Get(statusesAnnotation))
	cpu := optional(r.spec.Get("targetCPUUtilizationPercentage"))
	switch others := specs.Len(); {
	case cpu != nil && (others > 0 || statuses.Len() > 1):
		r.fail(fmt.Errorf("the order of metrics: %w", ErrUndetermined))
		return dst
	case cpu != nil:
		m := cpuV1(cpu, elementAt(statuses, 0))
		return appendMetric(dst, &m)
	case others == 0:
		return append(dst, none...)
	}
	list := shortlist{max: 2, sep: ", "}
	for i, spec := range specs.Elements {
		var ok bool
		if dst, ok = list.add(dst); ok {
			m := metricV1(r, spec, elementAt(statuses, i))
			dst = appendMetric(dst, &m)
		}
	}
	return list.end(dst)
}

// embedded returns the JSON inside a string.
func embedded(v json.Value) json.Value { return json.Value(bytesOf(v)) }

func cpuV1(target, status json.Value) metric {
	return metric{
		source:   "Resource",
		resource: json.Value(`"cpu"`),
		target:   measures{utilization: target},
		current:  measures{utilization: optional(status.Get("resource", "currentAverageUtilization"))},
	}
}

func metricV1(r *row, spec, status json.Value) (m metric) {
	typ, field := metricSource(spec)
	source, current := spec.Get(field), status.Get(field)
	m.source, m.resource, m.measured = typ, source.Get("name"), present(current)
	m.target = measures{
		value:       optional(source.Get("targetValue")),
		average:     optional(filled(source.Get("targetAverageValue"), source.Get("averageValue"))),
		utilization: optional(source.Get("targetAverageUtilization")),
	}
	m.current = measures{
		value:       optional(current.Get("currentValue")),
		average:     optional(filled(current.Get("currentAverageValue"), current.Get("averageValue"))),
		utilization: optional(current.Get("currentAverageUtilization")),
	}
	if m.ambiguous() {
		r.fail(fmt.Errorf("a measure of 0 or none: %w", ErrUndetermined))
	}
	return m
}

// ambiguous reports whether a printed amount is zero in version 1, which also writes missing
// amounts as zero.
func (m *metric) ambiguous() bool {
	zero := func(v json.Value) bool { return is(v, "0") }
	switch m.source {
	case "External":
		return m.target.average == nil && zero(m.current.value)
	case "Object":
		return m.target.average == nil && (zero(m.current.value) || zero(m.target.value))
	case "Pods":
		return zero(m.current.average) || zero(m.target.average)
	case "Resource", "ContainerResource":
		return m.target.average != nil && zero(m.current.average)
	}
	return false
}
