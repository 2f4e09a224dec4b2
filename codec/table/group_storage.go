package table

import (
	"fmt"

	"sluice/codec/json"
)

var storageGroup = group{"storage.k8s.io", []kind{
	{"StorageClass", versions("v1"), storageClass},
	{"VolumeAttributesClass", versions("v1", "v1beta1"), volumeAttributesClass},
	{"VolumeAttachment", versions("v1"), volumeAttachment},
	{"CSINode", versions("v1"), csiNode},
	{"CSIDriver", versions("v1"), csiDriver},
	{"CSIStorageCapacity", versions("v1"), defaultColumns},
}}

var storageClass = newColumns(
	named(text("Name", metaDoc["name"], quoted(storageClassName))),
	text("Provisioner", storageClassDoc["provisioner"], str("provisioner")),
	text("ReclaimPolicy", storageClassDoc["reclaimPolicy"], strOr("Delete", "reclaimPolicy")),
	text("VolumeBindingMode", storageClassDoc["volumeBindingMode"], strOr("Immediate", "volumeBindingMode")),
	text("AllowVolumeExpansion", storageClassDoc["allowVolumeExpansion"], flag(false, "allowVolumeExpansion")),
	ageColumn,
)

// storageClassName: up to 1.36 every class that is annotated as the default is marked, later only the one
// that counts among those of the same response. The definitions are the same.
func storageClassName(dst []byte, r *row) []byte {
	for _, a := range []string{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"} {
		if r.annotated(a, "true") {
			r.fail(fmt.Errorf("the default among storage classes: %w", ErrUndetermined))
		}
	}
	return appendScalar(dst, r.name)
}

var volumeAttributesClass = newColumns(
	nameColumn,
	text("DriverName", volumeAttributesDoc["driverName"], str("driverName")),
	ageColumn,
)

var volumeAttachment = newColumns(
	nameColumn,
	named(text("Attacher", volumeAttachmentSpecDoc["attacher"], str("spec", "attacher"))),
	text("PV", volumeAttachmentSourceDoc["persistentVolumeName"], str("spec", "source", "persistentVolumeName")),
	text("Node", volumeAttachmentSpecDoc["nodeName"], str("spec", "nodeName")),
	boolean("Attached", volumeAttachmentStatusDoc["attached"], flag(false, "status", "attached")),
	ageColumn,
)

var csiNode = newColumns(
	nameColumn,
	integer("Drivers", "Drivers indicates the number of CSI drivers registered on the node", count("spec", "drivers")),
	ageColumn,
)

var csiDriver = newColumns(
	nameColumn,
	boolean("AttachRequired", csiDriverSpecDoc["attachRequired"], flag(true, "spec", "attachRequired")),
	boolean("PodInfoOnMount", csiDriverSpecDoc["podInfoOnMount"], flag(false, "spec", "podInfoOnMount")),
	boolean("StorageCapacity", csiDriverSpecDoc["storageCapacity"], flag(false, "spec", "storageCapacity")),
	text("TokenRequests", csiDriverSpecDoc["tokenRequests"], quoted(tokenAudiences)),
	boolean("RequiresRepublish", csiDriverSpecDoc["requiresRepublish"], flag(false, "spec", "requiresRepublish")),
	text("Modes", csiDriverSpecDoc["volumeLifecycleModes"], quoted(lifecycleModes)),
	ageColumn,
)

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
