package table

import (
	"fmt"

	storage "k8s.io/api/storage/v1"

	"sluice/codec/json"
)

var storageGroup = group{"storage.k8s.io", []kind{
	{"StorageClass", versions("v1"), newColumns(
		named(text("Name", metaDoc["name"], quoted(storageClassName))),
		text("Provisioner", docOf[storage.StorageClass]("provisioner"), str("provisioner")),
		text("ReclaimPolicy", docOf[storage.StorageClass]("reclaimPolicy"), strOr("Delete", "reclaimPolicy")),
		text("VolumeBindingMode", docOf[storage.StorageClass]("volumeBindingMode"), strOr("Immediate", "volumeBindingMode")),
		text("AllowVolumeExpansion", docOf[storage.StorageClass]("allowVolumeExpansion"), flag(false, "allowVolumeExpansion")),
		ageColumn,
	)},
	{"VolumeAttributesClass", versions("v1", "v1beta1"), newColumns(
		nameColumn,
		text("DriverName", docOf[storage.VolumeAttributesClass]("driverName"), str("driverName")),
		ageColumn,
	)},
	{"VolumeAttachment", versions("v1"), newColumns(
		nameColumn,
		named(text("Attacher", docOf[storage.VolumeAttachmentSpec]("attacher"), str("spec", "attacher"))),
		text("PV", docOf[storage.VolumeAttachmentSource]("persistentVolumeName"),
			str("spec", "source", "persistentVolumeName")),
		text("Node", docOf[storage.VolumeAttachmentSpec]("nodeName"), str("spec", "nodeName")),
		boolean("Attached", docOf[storage.VolumeAttachmentStatus]("attached"), flag(false, "status", "attached")),
		ageColumn,
	)},
	{"CSINode", versions("v1"), newColumns(
		nameColumn,
		integer("Drivers", "Drivers indicates the number of CSI drivers registered on the node", count("spec", "drivers")),
		ageColumn,
	)},
	{"CSIDriver", versions("v1"), newColumns(
		nameColumn,
		boolean("AttachRequired", docOf[storage.CSIDriverSpec]("attachRequired"), flag(true, "spec", "attachRequired")),
		boolean("PodInfoOnMount", docOf[storage.CSIDriverSpec]("podInfoOnMount"), flag(false, "spec", "podInfoOnMount")),
		boolean("StorageCapacity", docOf[storage.CSIDriverSpec]("storageCapacity"), flag(false, "spec", "storageCapacity")),
		text("TokenRequests", docOf[storage.CSIDriverSpec]("tokenRequests"), quoted(tokenAudiences)),
		boolean("RequiresRepublish", docOf[storage.CSIDriverSpec]("requiresRepublish"),
			flag(false, "spec", "requiresRepublish")),
		text("Modes", docOf[storage.CSIDriverSpec]("volumeLifecycleModes"), quoted(lifecycleModes)),
		ageColumn,
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
	return appendScalar(dst, r.name)
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
