package table

import resource "k8s.io/api/resource/v1"

var resourceGroup = group{"resource.k8s.io", []kind{
	{"DeviceClass", versions("v1", "v1beta2", "v1beta1"), nameAndAge},
	{"ResourceClaim", versions("v1", "v1beta2", "v1beta1"), newColumns(
		nameColumn,
		text("State", "A summary of the current state (allocated, pending, reserved, etc.).", quoted(claimState)),
		ageColumn,
	)},
	{"ResourceClaimTemplate", versions("v1", "v1beta2", "v1beta1"), nameAndAge},
	{"ResourceSlice", versions("v1", "v1beta2", "v1beta1"), newColumns(
		nameColumn,
		text("Node", docOf[resource.ResourceSliceSpec]("nodeName"), str("spec", "nodeName")),
		text("Driver", docOf[resource.ResourceSliceSpec]("driver"), str("spec", "driver")),
		text("Pool", docOf[resource.ResourcePool]("name"), str("spec", "pool", "name")),
		ageColumn,
	)},
	{"DeviceTaintRule", versions("v1", "v1beta2", "v1alpha3"), newColumns(
		nameColumn,
		text("Key", docOf[resource.DeviceTaint]("key"), str("spec", "taint", "key")),
		text("Value", docOf[resource.DeviceTaint]("value"), str("spec", "taint", "value")),
		text("Effect", docOf[resource.DeviceTaint]("effect"), str("spec", "taint", "effect")),
		text("TimeAdded", docOf[resource.DeviceTaint]("timeAdded"), since("", "spec", "taint", "timeAdded")),
		ageColumn,
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
