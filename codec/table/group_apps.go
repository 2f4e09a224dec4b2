package table

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/json"
)

var appsGroup = group{"apps", []kind{
	{"Deployment", versions("v1"), usual(
		text("Ready", ratio(path("status", "readyReplicas"), path("spec", "replicas"))),
		text("Up-to-date", num("status", "updatedReplicas")),
		text("Available", num("status", "availableReplicas")),
		wide(containerNames(templateContainers)),
		wide(containerImages(templateContainers)),
		wide(text("Selector", quoted(deploymentSelector))),
	)},
	{"ReplicaSet", versions("v1"), usual(
		integer("Desired", num("spec", "replicas")),
		integer("Current", num("status", "replicas")),
		integer("Ready", num("status", "readyReplicas")),
		wide(containerNames(templateContainers)),
		wide(containerImages(templateContainers)),
		wide(text("Selector", selectorCell("spec", "selector"))),
	)},
	{"StatefulSet", versions("v1"), usual(
		text("Ready", ratio(path("status", "readyReplicas"), path("spec", "replicas"))),
		wide(containerNames(templateContainers)),
		wide(containerImages(templateContainers)),
	)},
	{"DaemonSet", versions("v1"), usual(
		integer("Desired", num("status", "desiredNumberScheduled")),
		integer("Current", num("status", "currentNumberScheduled")),
		integer("Ready", num("status", "numberReady")),
		integer("Up-to-date", num("status", "updatedNumberScheduled")),
		integer("Available", num("status", "numberAvailable")),
		text("Node Selector", labelsCell("spec", "template", "spec", "nodeSelector")),
		wide(containerNames(templateContainers)),
		wide(containerImages(templateContainers)),
		wide(text("Selector", selectorCell("spec", "selector"))),
	)},
	{"ControllerRevision", versions("v1"), usual(
		text("Controller", quoted(controller)),
		text("Revision", num("revision")),
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
	dst = append(dst, bytes.ToLower(bytesOf(owner.Get("kind")))...)
	if grouped && len(group) > 0 {
		dst = append(append(dst, '.'), bytes.ToLower(group)...)
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
