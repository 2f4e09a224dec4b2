package table

import "strconv"

// coreGroup is the group with the empty name. The larger kinds have files of their own, core_*.go;
// events are in group_events.go.
var coreGroup = group{"", []kind{
	{"ConfigMap", versions("v1"), configMap},
	{"Endpoints", versions("v1"), endpoints},
	{"Event", versions("v1"), coreEvent},
	{"LimitRange", versions("v1"), defaultColumns},
	{"Namespace", versions("v1"), namespace},
	{"Node", versions("v1"), node},
	{"PersistentVolume", versions("v1"), persistentVolume},
	{"PersistentVolumeClaim", versions("v1"), persistentVolumeClaim},
	{"Pod", versions("v1"), pod},
	{"PodTemplate", versions("v1"), podTemplate},
	{"ReplicationController", versions("v1"), replicationController},
	{"ResourceQuota", versions("v1"), resourceQuota},
	{"Secret", versions("v1"), secret},
	{"Service", versions("v1"), service},
	{"ServiceAccount", versions("v1"), nameAndAge},
}}

// nameAndAge are the columns of kinds that print nothing else.
var nameAndAge = newColumns(nameColumn, ageColumn)

var configMap = newColumns(
	nameColumn,
	text("Data", configMapDoc["data"], configMapKeys),
	ageColumn,
)

// configMapKeys counts the keys of data and binaryData together.
func configMapKeys(dst []byte, r *row) []byte {
	n := r.object.Get("data").Len() + r.object.Get("binaryData").Len()
	return strconv.AppendInt(dst, int64(n), 10)
}

var namespace = newColumns(
	nameColumn,
	text("Status", "The status of the namespace", str("status", "phase")),
	ageColumn,
)

var podTemplate = newColumns(
	nameColumn,
	containerNames(path("template", "spec", "containers")),
	containerImages(path("template", "spec", "containers")),
	text("Pod Labels", "The labels for the pod template.", labelsCell("template", "metadata", "labels")),
)

var replicationController = newColumns(
	nameColumn,
	integer("Desired", replicationSpecDoc["replicas"], num("spec", "replicas")),
	integer("Current", replicationStatusDoc["replicas"], num("status", "replicas")),
	integer("Ready", replicationStatusDoc["readyReplicas"], num("status", "readyReplicas")),
	ageColumn,
	wide(containerNames(templateContainers)),
	wide(containerImages(templateContainers)),
	wide(text("Selector", replicationSpecDoc["selector"], labelsCell("spec", "selector"))),
)

var secret = newColumns(
	nameColumn,
	text("Type", secretDoc["type"], str("type")),
	text("Data", secretDoc["data"], count("data")),
	ageColumn,
)
