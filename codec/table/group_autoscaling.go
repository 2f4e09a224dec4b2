package table

import "sluice/codec/json"

// Tables of version 1 are left to the apiserver: that version does not record the order of the metrics,
// nor whether an amount is zero or missing.
var autoscalingGroup = group{"autoscaling", []kind{
	{"HorizontalPodAutoscaler", versions("v2"), usual(
		text("Reference", reference("/", path("spec", "scaleTargetRef"), "kind", "name")),
		text("Targets", quoted(metricTargets)),
		text("MinPods", strOr(unset, "spec", "minReplicas")),
		text("MaxPods", num("spec", "maxReplicas")),
		text("Replicas", num("status", "currentReplicas")),
	)},
}}

// A metric is one metric of a HorizontalPodAutoscaler: its target and its current measures. A
// measure that is not set is nil; current is empty until something has been measured.
type metric struct {
	source   string     // "Resource", "Pods", ...
	resource json.Value // the name of the resource, for resource metrics
	target   measures
	measured bool
	current  measures
}

// measures are the forms in which an amount can be given.
type measures struct{ value, average, utilization json.Value }

// appendMetric appends "current/target".
func appendMetric(dst []byte, m *metric) []byte {
	switch m.source {
	case "External", "Object":
		if m.target.average != nil {
			dst = appendPair(dst, m.current.average, m.target.average)
			return append(dst, " (avg)"...)
		}
		return m.appendMeasured(dst, m.current.value, m.target.value)
	case "Pods":
		return m.appendMeasured(dst, m.current.average, m.target.average)
	case "Resource", "ContainerResource":
		dst = append(appendScalar(dst, m.resource), ": "...)
		if m.target.average != nil {
			return m.appendMeasured(dst, m.current.average, m.target.average)
		}
		return appendUtilization(dst, m)
	}
	return append(dst, "<unknown type>"...)
}

// appendPair appends two quantities; current may be unknown.
func appendPair(dst []byte, current, target json.Value) []byte {
	dst = append(appendOr(dst, current, unknown), '/')
	return appendScalar(dst, target)
}

// appendMeasured is appendPair for amounts that exist once anything has been measured. For one that
// does not, the apiserver prints a nil pointer.
func (m *metric) appendMeasured(dst []byte, current, target json.Value) []byte {
	if m.measured {
		dst = appendOr(dst, current, "<nil>")
	} else {
		dst = append(dst, unknown...)
	}
	return appendOr(append(dst, '/'), target, "<nil>")
}

func appendUtilization(dst []byte, m *metric) []byte {
	dst = appendPercent(dst, m.current.utilization, unknown)
	return appendPercent(append(dst, '/'), m.target.utilization, "<auto>")
}

func appendPercent(dst []byte, v json.Value, instead string) []byte {
	if v == nil {
		return append(dst, instead...)
	}
	return append(appendInt(dst, v), '%')
}

// metricFields maps the type of a metric to the member that holds its source.
var metricFields = map[string]string{
	"External":          "external",
	"Object":            "object",
	"Pods":              "pods",
	"Resource":          "resource",
	"ContainerResource": "containerResource",
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

// metricTargets prints the first metrics, each with the status at the same index.
func metricTargets(dst []byte, r *row) []byte {
	statuses := r.status.Get("currentMetrics")
	list := shortlist{max: 2, sep: ", "}
	for i, spec := range r.spec.Get("metrics").Elements {
		var ok bool
		if dst, ok = list.add(dst); ok {
			m := readMetric(spec, elementAt(statuses, i))
			dst = appendMetric(dst, &m)
		}
	}
	if list.n == 0 {
		return append(dst, none...)
	}
	return list.end(dst)
}

// readMetric reads a metric from its spec and the status at the same index.
func readMetric(spec, status json.Value) (m metric) {
	typ, _ := spec.Get("type").Text()
	field := metricFields[typ]
	source, current := spec.Get(field), status.Get(field)
	m.source, m.resource = typ, source.Get("name")
	m.target = readMeasures(source.Get("target"))
	m.current = readMeasures(current.Get("current"))
	m.measured = present(current)
	return m
}

func readMeasures(v json.Value) measures {
	return measures{
		value:       optional(v.Get("value")),
		average:     optional(v.Get("averageValue")),
		utilization: optional(v.Get("averageUtilization")),
	}
}
