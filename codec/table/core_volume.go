package table

import "sluice/codec/json"

var persistentVolume = usual(
	text("Capacity", quantity("spec", "capacity", "storage")),
	text("Access Modes", quoted(volumeModes)),
	text("Reclaim Policy", str("spec", "persistentVolumeReclaimPolicy")),
	text("Status", quoted(volumePhase)),
	text("Claim", reference("", path("spec", "claimRef"), "namespace", "name")),
	text("StorageClass", quoted(volumeClass)),
	text("VolumeAttributesClass", strOr(unset, "spec", "volumeAttributesClassName")),
	text("Reason", str("status", "reason")),
	wide(text("VolumeMode", strOr(unset, "spec", "volumeMode"))),
)

var persistentVolumeClaim = usual(
	text("Status", quoted(volumePhase)),
	text("Volume", str("spec", "volumeName")),
	text("Capacity", quoted(claimCapacity)),
	text("Access Modes", quoted(claimModes)),
	text("StorageClass", quoted(volumeClass)),
	text("VolumeAttributesClass", strOr(unset, "spec", "volumeAttributesClassName")),
	wide(text("VolumeMode", strOr(unset, "spec", "volumeMode"))),
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
	if class := r.meta.Get("annotations", "volume.beta.kubernetes.io/storage-class"); present(class) {
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
