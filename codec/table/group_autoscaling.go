package table

import "sluice/codec/json"

var autoscalingGroup = group{"autoscaling", []kind{
	{"HorizontalPodAutoscaler", versions("v2"), autoscaler(targetsV2)},
	{"HorizontalPodAutoscaler", versions("v1"), autoscaler(targetsV1)},
	{"Scale", versions("v1"), scale},
}}

func autoscaler(targets printer) *Columns {
	return newColumns(
		nameColumn,
		text("Reference", hpaSpecDoc["scaleTargetRef"], quoted(scaleTarget)),
		text("Targets", hpaSpecDoc["metrics"], quoted(targets)),
		text("MinPods", hpaSpecDoc["minReplicas"], strOr(unset, "spec", "minReplicas")),
		text("MaxPods", hpaSpecDoc["maxReplicas"], num("spec", "maxReplicas")),
		text("Replicas", hpaStatusDoc["currentReplicas"], num("status", "currentReplicas")),
		ageColumn,
	)
}

// scaleTarget prints "Kind/name".
func scaleTarget(dst []byte, r *row) []byte {
	ref := r.spec.Get("scaleTargetRef")
	dst = append(appendScalar(dst, ref.Get("kind")), '/')
	return appendScalar(dst, ref.Get("name"))
}

var scale = newColumns(
	text("Name", metaDoc["name"], nameCell),
	integer("Desired", scaleSpecDoc["replicas"], num("spec", "replicas")),
	integer("Available", scaleStatusDoc["replicas"], num("status", "replicas")),
	ageColumn,
)

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
