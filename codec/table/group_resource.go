package table

var resourceGroup = group{"resource.k8s.io", []kind{
	{"DeviceClass", versions("v1", "v1beta2", "v1beta1"), nameAndAge},
	{"ResourceClaim", versions("v1", "v1beta2", "v1beta1"), usual(text("State", quoted(claimState)))},
	{"ResourceClaimTemplate", versions("v1", "v1beta2", "v1beta1"), nameAndAge},
	{"ResourceSlice", versions("v1", "v1beta2", "v1beta1"), usual(
		text("Node", str("spec", "nodeName")),
		text("Driver", str("spec", "driver")),
		text("Pool", str("spec", "pool", "name")),
	)},
	{"DeviceTaintRule", versions("v1", "v1beta2", "v1alpha3"), usual(
		text("Key", str("spec", "taint", "key")),
		text("Value", str("spec", "taint", "value")),
		text("Effect", str("spec", "taint", "effect")),
		text("TimeAdded", since("", "spec", "taint", "timeAdded")),
	)},
	{"ResourcePoolStatusRequest", versions("v1alpha3"), poolStatusRequest},
}}

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
