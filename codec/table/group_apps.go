package table

import (
	"bytes"
	"fmt"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/json"
)

var appsGroup = group{"apps", []kind{
	{"Deployment", versions("v1"), newColumns(
		nameColumn,
		text("Ready", "Number of the pod with ready state", ratio(path("status", "readyReplicas"), path("spec", "replicas"))),
		text("Up-to-date", docOf[apps.DeploymentStatus]("updatedReplicas"), num("status", "updatedReplicas")),
		text("Available", docOf[apps.DeploymentStatus]("availableReplicas"), num("status", "availableReplicas")),
		ageColumn,
		wide(containerNames(templateContainers)),
		wide(containerImages(templateContainers)),
		wide(text("Selector", docOf[apps.DeploymentSpec]("selector"), quoted(deploymentSelector))),
	)},
	{"ReplicaSet", versions("v1"), newColumns(
		nameColumn,
		integer("Desired", docOf[apps.ReplicaSetSpec]("replicas"), num("spec", "replicas")),
		integer("Current", docOf[apps.ReplicaSetStatus]("replicas"), num("status", "replicas")),
		integer("Ready", docOf[apps.ReplicaSetStatus]("readyReplicas"), num("status", "readyReplicas")),
		ageColumn,
		wide(containerNames(templateContainers)),
		wide(containerImages(templateContainers)),
		wide(text("Selector", docOf[apps.ReplicaSetSpec]("selector"), selectorCell("spec", "selector"))),
	)},
	{"StatefulSet", versions("v1"), newColumns(
		nameColumn,
		text("Ready", "Number of the pod with ready state", ratio(path("status", "readyReplicas"), path("spec", "replicas"))),
		ageColumn,
		wide(containerNames(templateContainers)),
		wide(containerImages(templateContainers)),
	)},
	{"DaemonSet", versions("v1"), newColumns(
		nameColumn,
		integer("Desired", docOf[apps.DaemonSetStatus]("desiredNumberScheduled"), num("status", "desiredNumberScheduled")),
		integer("Current", docOf[apps.DaemonSetStatus]("currentNumberScheduled"), num("status", "currentNumberScheduled")),
		integer("Ready", docOf[apps.DaemonSetStatus]("numberReady"), num("status", "numberReady")),
		integer("Up-to-date", docOf[apps.DaemonSetStatus]("updatedNumberScheduled"), num("status", "updatedNumberScheduled")),
		integer("Available", docOf[apps.DaemonSetStatus]("numberAvailable"), num("status", "numberAvailable")),
		text("Node Selector", docOf[core.PodSpec]("nodeSelector"), labelsCell("spec", "template", "spec", "nodeSelector")),
		ageColumn,
		wide(containerNames(templateContainers)),
		wide(containerImages(templateContainers)),
		wide(text("Selector", docOf[apps.DaemonSetSpec]("selector"), selectorCell("spec", "selector"))),
	)},
	{"ControllerRevision", versions("v1"), newColumns(
		nameColumn,
		text("Controller", "Controller of the object", quoted(controller)),
		text("Revision", docOf[apps.ControllerRevision]("revision"), num("revision")),
		ageColumn,
	)},
}}

// templateContainers is the path of the containers in the pod template of a workload.
var templateContainers = path("spec", "template", "spec", "containers")

// deploymentSelector prints an empty selector and an invalid one differently from other kinds.
func deploymentSelector(dst []byte, r *row) []byte {
	selector, err := metav1.LabelSelectorAsSelector(readSelector(r.spec.Get("selector")))
	if err != nil {
		return append(dst, "<invalid>"...)
	}
	return append(dst, selector.String()...)
}

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
