package table

var resourceGroup = group{"resource.k8s.io", []kind{
	{"DeviceClass", versions("v1", "v1beta2", "v1beta1"), nameAndAge},
	{"ResourceClaim", versions("v1", "v1beta2", "v1beta1"), resourceClaim},
	{"ResourceClaimTemplate", versions("v1", "v1beta2", "v1beta1"), nameAndAge},
	{"ResourceSlice", versions("v1", "v1beta2", "v1beta1"), resourceSlice},
	{"DeviceTaintRule", versions("v1", "v1beta2", "v1alpha3"), deviceTaintRule},
	{"ResourcePoolStatusRequest", versions("v1alpha3"), poolStatusRequest},
}}

var resourceClaim = newColumns(
	nameColumn,
	text("State", "A summary of the current state (allocated, pending, reserved, etc.).", quoted(claimState)),
	ageColumn,
)

func claimState(dst []byte, r *row) []byte {
	start := len(dst)
	if r.terminating() {
		dst = append(dst, "deleted,"...)
	}
	switch allocated := present(r.status.Get("allocation")); {
	case allocated && r.status.Get("reservedFor").Len() > 0:
		dst = append(dst, "allocated,reserved,"...)
	case allocated:
		dst = append(dst, "allocated,"...)
	case !r.terminating():
		dst = append(dst, "pending,"...)
	}
	return dst[:max(start, len(dst)-1)]
}

var resourceSlice = newColumns(
	nameColumn,
	text("Node", resourceSliceSpecDoc["nodeName"], str("spec", "nodeName")),
	text("Driver", resourceSliceSpecDoc["driver"], str("spec", "driver")),
	text("Pool", resourcePoolDoc["name"], str("spec", "pool", "name")),
	ageColumn,
)

var deviceTaintRule = newColumns(
	nameColumn,
	text("Key", deviceTaintDoc["key"], str("spec", "taint", "key")),
	text("Value", deviceTaintDoc["value"], str("spec", "taint", "value")),
	text("Effect", deviceTaintDoc["effect"], str("spec", "taint", "effect")),
	text("TimeAdded", deviceTaintDoc["timeAdded"], quoted(taintAge)),
	ageColumn,
)

func taintAge(dst []byte, r *row) []byte {
	added := r.spec.Get("taint", "timeAdded")
	if !isSet(added) {
		return dst
	}
	return r.appendSince(dst, added)
}
