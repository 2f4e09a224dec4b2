package table

import (
	core "k8s.io/api/core/v1"

	"sluice/codec/json"
)

var persistentVolume = newColumns(
	nameColumn,
	text("Capacity", docOf[core.PersistentVolumeSpec]("capacity"), quantity("spec", "capacity", "storage")),
	text("Access Modes", docOf[core.PersistentVolumeSpec]("accessModes"), quoted(volumeModes)),
	text("Reclaim Policy", docOf[core.PersistentVolumeSpec]("persistentVolumeReclaimPolicy"),
		str("spec", "persistentVolumeReclaimPolicy")),
	text("Status", docOf[core.PersistentVolumeStatus]("phase"), quoted(volumePhase)),
	text("Claim", docOf[core.PersistentVolumeSpec]("claimRef"), reference("", path("spec", "claimRef"), "namespace", "name")),
	text("StorageClass", "StorageClass of the pv", quoted(volumeClass)),
	text("VolumeAttributesClass", "VolumeAttributesClass of the pv", strOr(unset, "spec", "volumeAttributesClassName")),
	text("Reason", docOf[core.PersistentVolumeStatus]("reason"), str("status", "reason")),
	ageColumn,
	wide(text("VolumeMode", docOf[core.PersistentVolumeSpec]("volumeMode"), strOr(unset, "spec", "volumeMode"))),
)

var persistentVolumeClaim = newColumns(
	nameColumn,
	text("Status", docOf[core.PersistentVolumeClaimStatus]("phase"), quoted(volumePhase)),
	text("Volume", docOf[core.PersistentVolumeClaimSpec]("volumeName"), str("spec", "volumeName")),
	text("Capacity", docOf[core.PersistentVolumeClaimStatus]("capacity"), quoted(claimCapacity)),
	text("Access Modes", docOf[core.PersistentVolumeClaimStatus]("accessModes"), quoted(claimModes)),
	text("StorageClass", "StorageClass of the pvc", quoted(volumeClass)),
	text("VolumeAttributesClass", "VolumeAttributesClass of the pvc", strOr(unset, "spec", "volumeAttributesClassName")),
	ageColumn,
	wide(text("VolumeMode", docOf[core.PersistentVolumeClaimSpec]("volumeMode"), strOr(unset, "spec", "volumeMode"))),
)

// accessModes maps access modes to their abbreviations, in the order of printing.
var accessModes = [...]struct{ name, short string }{
	{"ReadWriteOnce", "RWO"},
	{"ReadOnlyMany", "ROX"},
	{"ReadWriteMany", "RWX"},
	{"ReadWriteOncePod", "RWOP"},
}

func appendModes(dst []byte, modes json.Value) []byte {
	list := shortlist{max: len(accessModes), sep: ","}
	for i := range accessModes {
		if contains(modes, accessModes[i].name) {
			dst, _ = list.add(dst)
			dst = append(dst, accessModes[i].short...)
		}
	}
	return dst
}

// contains reports whether s is an element of a list of strings.
func contains(list json.Value, s string) bool {
	for _, v := range list.Elements {
		if is(v, s) {
			return true
		}
	}
	return false
}

func volumeModes(dst []byte, r *row) []byte { return appendModes(dst, r.spec.Get("accessModes")) }

func volumePhase(dst []byte, r *row) []byte {
	if r.terminating() {
		return append(dst, "Terminating"...)
	}
	return appendScalar(dst, r.status.Get("phase"))
}

// volumeClass prints the storage class; the beta annotation takes precedence.
func volumeClass(dst []byte, r *row) []byte {
	if class := r.annotations.Get("volume.beta.kubernetes.io/storage-class"); present(class) {
		return appendScalar(dst, class)
	}
	return appendScalar(dst, r.spec.Get("storageClassName"))
}

// A claim prints its capacity and access modes only once it names a volume.

func claimCapacity(dst []byte, r *row) []byte {
	if empty(r.spec.Get("volumeName")) {
		return dst
	}
	return appendQuantity(dst, r.status.Get("capacity", "storage"))
}

func claimModes(dst []byte, r *row) []byte {
	if empty(r.spec.Get("volumeName")) {
		return dst
	}
	return appendModes(dst, r.status.Get("accessModes"))
}
