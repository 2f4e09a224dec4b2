package table

import "strconv"

// coreGroup is the group with the empty name. The larger kinds have files of their own, core_*.go;
// events are in group_events.go.
var coreGroup = group{"", []kind{
	{"ConfigMap", versions("v1"), usual(text("Data", configMapKeys))},
	{"Endpoints", versions("v1"), endpoints},
	{"Event", versions("v1"), coreEvent},
	{"LimitRange", versions("v1"), defaultColumns},
	{"Namespace", versions("v1"), usual(text("Status", str("status", "phase")))},
	{"Node", versions("v1"), node},
	{"PersistentVolume", versions("v1"), persistentVolume},
	{"PersistentVolumeClaim", versions("v1"), persistentVolumeClaim},
	{"Pod", versions("v1"), pod},
	{"PodTemplate", versions("v1"), newColumns(
		nameColumn,
		containerNames(path("template", "spec", "containers")),
		containerImages(path("template", "spec", "containers")),
		text("Pod Labels", labelsCell("template", "metadata", "labels")),
	)},
	{"ReplicationController", versions("v1"), usual(
		integer("Desired", num("spec", "replicas")),
		integer("Current", num("status", "replicas")),
		integer("Ready", num("status", "readyReplicas")),
		wide(containerNames(templateContainers)),
		wide(containerImages(templateContainers)),
		wide(text("Selector", labelsCell("spec", "selector"))),
	)},
	{"ResourceQuota", versions("v1"), resourceQuota},
	{"Secret", versions("v1"), usual(text("Type", str("type")), text("Data", count("data")))},
	{"Service", versions("v1"), service},
	{"ServiceAccount", versions("v1"), nameAndAge},
}}

// nameAndAge are the columns of kinds that print nothing else.
var nameAndAge = usual()

// configMapKeys counts the keys of data and binaryData together.
func configMapKeys(dst []byte, r *row) []byte {
	n := r.object.Get("data").Len() + r.object.Get("binaryData").Len()
	return strconv.AppendInt(dst, int64(n), 10)
}
