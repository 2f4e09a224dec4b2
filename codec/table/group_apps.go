package table

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/json"
)

var appsGroup = group{"apps", []kind{
	{"Deployment", versions("v1"), deployment},
	{"ReplicaSet", versions("v1"), replicaSet},
	{"StatefulSet", versions("v1"), statefulSet},
	{"DaemonSet", versions("v1"), daemonSet},
	{"ControllerRevision", versions("v1"), controllerRevision},
}}

// templateContainers is the path of the containers in the pod template of a workload.
var templateContainers = path("spec", "template", "spec", "containers")

var deployment = newColumns(
	nameColumn,
	text("Ready", "Number of the pod with ready state", ratio(path("status", "readyReplicas"), path("spec", "replicas"))),
	text("Up-to-date", deploymentStatusDoc["updatedReplicas"], num("status", "updatedReplicas")),
	text("Available", deploymentStatusDoc["availableReplicas"], num("status", "availableReplicas")),
	ageColumn,
	wide(containerNames(templateContainers)),
	wide(containerImages(templateContainers)),
	wide(text("Selector", deploymentSpecDoc["selector"], quoted(deploymentSelector))),
)

// deploymentSelector prints an empty selector and an invalid one differently from other kinds.
func deploymentSelector(dst []byte, r *row) []byte {
	selector, err := metav1.LabelSelectorAsSelector(readSelector(r.spec.Get("selector")))
	if err != nil {
		return append(dst, "<invalid>"...)
	}
	return append(dst, selector.String()...)
}

var replicaSet = newColumns(
	nameColumn,
	integer("Desired", replicaSetSpecDoc["replicas"], num("spec", "replicas")),
	integer("Current", replicaSetStatusDoc["replicas"], num("status", "replicas")),
	integer("Ready", replicaSetStatusDoc["readyReplicas"], num("status", "readyReplicas")),
	ageColumn,
	wide(containerNames(templateContainers)),
	wide(containerImages(templateContainers)),
	wide(text("Selector", replicaSetSpecDoc["selector"], selectorCell("spec", "selector"))),
)

var statefulSet = newColumns(
	nameColumn,
	text("Ready", "Number of the pod with ready state", ratio(path("status", "readyReplicas"), path("spec", "replicas"))),
	ageColumn,
	wide(containerNames(templateContainers)),
	wide(containerImages(templateContainers)),
)

var daemonSet = newColumns(
	nameColumn,
	integer("Desired", daemonSetStatusDoc["desiredNumberScheduled"], num("status", "desiredNumberScheduled")),
	integer("Current", daemonSetStatusDoc["currentNumberScheduled"], num("status", "currentNumberScheduled")),
	integer("Ready", daemonSetStatusDoc["numberReady"], num("status", "numberReady")),
	integer("Up-to-date", daemonSetStatusDoc["updatedNumberScheduled"], num("status", "updatedNumberScheduled")),
	integer("Available", daemonSetStatusDoc["numberAvailable"], num("status", "numberAvailable")),
	text("Node Selector", podSpecDoc["nodeSelector"], labelsCell("spec", "template", "spec", "nodeSelector")),
	ageColumn,
	wide(containerNames(templateContainers)),
	wide(containerImages(templateContainers)),
	wide(text("Selector", daemonSetSpecDoc["selector"], selectorCell("spec", "selector"))),
)

var controllerRevision = newColumns(
	nameColumn,
	text("Controller", "Controller of the object", quoted(controller)),
	text("Revision", controllerRevisionDoc["revision"], num("revision")),
	ageColumn,
)

// controller prints "kind.group/name" of the controlling owner.
func controller(dst []byte, r *row) []byte {
	owner := controllerOf(r.meta)
	if owner == nil {
		return append(dst, none...)
	}
	apiVersion := bytesOf(owner.Get("apiVersion"))
	group, _, grouped := bytes.Cut(apiVersion, []byte{'/'})
	if bytes.Count(apiVersion, []byte{'/'}) > 1 {
		r.fail(fmt.Errorf("owner's apiVersion %q: %w", apiVersion, ErrUnprintable))
	}
	start := len(dst)
	dst = appendLower(dst, bytesOf(owner.Get("kind")))
	if grouped && len(group) > 0 {
		dst = appendLower(append(dst, '.'), group)
	}
	if len(dst) > start {
		dst = append(dst, '/')
	}
	return appendScalar(dst, owner.Get("name"))
}

// controllerOf returns the controlling owner reference, or nil.
func controllerOf(meta json.Value) json.Value {
	for _, owner := range meta.Get("ownerReferences").Elements {
		if isTrue(owner.Get("controller")) {
			return owner
		}
	}
	return nil
}
