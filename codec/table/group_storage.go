package table

import (
	"fmt"

	"sluice/codec/json"
)

var storageGroup = group{"storage.k8s.io", []kind{
	{"StorageClass", versions("v1"), newColumns(
		named(text("Name", quoted(storageClassName))),
		text("Provisioner", str("provisioner")),
		text("ReclaimPolicy", strOr("Delete", "reclaimPolicy")),
		text("VolumeBindingMode", strOr("Immediate", "volumeBindingMode")),
		text("AllowVolumeExpansion", flag(false, "allowVolumeExpansion")),
		ageColumn,
	)},
	{"VolumeAttributesClass", versions("v1", "v1beta1"), usual(text("DriverName", str("driverName")))},
	{"VolumeAttachment", versions("v1"), usual(
		named(text("Attacher", str("spec", "attacher"))),
		text("PV", str("spec", "source", "persistentVolumeName")),
		text("Node", str("spec", "nodeName")),
		boolean("Attached", flag(false, "status", "attached")),
	)},
	{"CSINode", versions("v1"), usual(integer("Drivers", count("spec", "drivers")))},
	{"CSIDriver", versions("v1"), usual(
		boolean("AttachRequired", flag(true, "spec", "attachRequired")),
		boolean("PodInfoOnMount", flag(false, "spec", "podInfoOnMount")),
		boolean("StorageCapacity", flag(false, "spec", "storageCapacity")),
		text("TokenRequests", quoted(tokenAudiences)),
		boolean("RequiresRepublish", flag(false, "spec", "requiresRepublish")),
		text("Modes", quoted(lifecycleModes)),
	)},
	{"CSIStorageCapacity", versions("v1"), defaultColumns},
}}

// storageClassName: up to 1.36 every class that is annotated as the default is marked, later only the one
// that counts among those of the same response. The definitions are the same.
func storageClassName(dst []byte, r *row) []byte {
	for _, a := range []string{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"} {
		if r.annotated(a, "true") {
			r.fail(fmt.Errorf("the default among storage classes: %w", ErrUndetermined))
		}
	}
	return appendScalar(dst, r.name())
}

// tokenAudiences prints the audiences of the requested tokens. An audience may be empty.
func tokenAudiences(dst []byte, r *row) []byte {
	requests := r.spec.Get("tokenRequests")
	if requests.Kind() != json.Array {
		return append(dst, unset...)
	}
	for i, t := range requests.Elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendScalar(dst, t.Get("audience"))
	}
	return dst
}

func lifecycleModes(dst []byte, r *row) []byte {
	start := len(dst)
	if dst = appendJoined(dst, r.spec.Get("volumeLifecycleModes"), ","); len(dst) == start {
		dst = append(dst, none...)
	}
	return dst
}
