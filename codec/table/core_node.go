package table

import "bytes"

var node = newColumns(
	nameColumn,
	text("Status", quoted(nodeState)),
	text("Roles", quoted(nodeRoles)),
	ageColumn,
	text("Version", str("status", "nodeInfo", "kubeletVersion")),
	wide(text("Internal-IP", nodeAddress("InternalIP"))),
	wide(text("External-IP", nodeAddress("ExternalIP"))),
	wide(text("OS-Image", filledOr(unknown, "status", "nodeInfo", "osImage"))),
	wide(text("Kernel-Version", quoted(nodeKernel))),
	wide(text("Container-Runtime", filledOr(unknown, "status", "nodeInfo", "containerRuntimeVersion"))),
).with(rules{cellsSince: 36})

// nodeState prints whether the node is ready, and whether it is unschedulable.
func nodeState(dst []byte, r *row) []byte {
	switch c := lastCondition(r.status.Get("conditions"), "Ready"); {
	case c == nil:
		dst = append(dst, "Unknown"...)
	case is(c.Get("status"), "True"):
		dst = append(dst, "Ready"...)
	default:
		dst = append(dst, "NotReady"...)
	}
	if isTrue(r.spec.Get("unschedulable")) {
		dst = append(dst, ",SchedulingDisabled"...)
	}
	return dst
}

var (
	rolePrefix = []byte("node-role.kubernetes.io/")
	roleLabel  = []byte("kubernetes.io/role")
)

// nodeRoles prints the roles in the node's labels, sorted.
func nodeRoles(dst []byte, r *row) []byte {
	r.parts = r.parts[:0]
	for key, v := range r.meta.Get("labels").Members {
		role, ok := bytes.CutPrefix(key, rolePrefix)
		if !ok && bytes.Equal(key, roleLabel) {
			role, ok = bytesOf(v), true
		}
		if ok && len(role) > 0 {
			r.parts = append(r.parts, role)
		}
	}
	if len(r.parts) == 0 {
		return append(dst, none...)
	}
	return appendSorted(dst, r.parts)
}

// nodeAddress prints the first address of a type.
func nodeAddress(typ string) cell {
	return quoted(func(dst []byte, r *row) []byte {
		if a := condition(r.status.Get("addresses"), typ); a != nil {
			return appendScalar(dst, a.Get("address"))
		}
		return append(dst, none...)
	})
}

func nodeKernel(dst []byte, r *row) []byte {
	info := r.status.Get("nodeInfo")
	dst = appendFilled(dst, info.Get("kernelVersion"), unknown)
	if arch := info.Get("architecture"); !empty(arch) && !r.older {
		dst = append(appendScalar(append(dst, " ("...), arch), ')')
	}
	return dst
}
