package limits

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Caller is the holder of places and memory. Callers of one Group share its part.
type Caller struct {
	Group, Name string
	System      bool // the cluster depends on it
}

// IsSystem reports whether the cluster depends on a user: system:masters, nodes, components of the control plane and service
// accounts of kube-system. The suggested FlowSchemas of the apiserver put the same users above others.
func IsSystem(u user.Info) bool {
	return u != nil && (strings.HasPrefix(u.GetName(), "system:kube-") || slices.ContainsFunc(u.GetGroups(), isSystemGroup))
}

func isSystemGroup(name string) bool {
	return name == user.SystemPrivilegedGroup || name == user.NodesGroup ||
		name == serviceaccount.MakeNamespaceGroupName("kube-system")
}
