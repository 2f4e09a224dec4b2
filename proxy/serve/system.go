package serve

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/request"
)

// systemCaller reports whether the cluster itself depends on the caller: an administrator of last resort,
// a node, a component of the control plane, or a service account of its namespace. These are the callers
// that the suggested FlowSchemas of the apiserver put above others.
func systemCaller(info *request.Info) bool {
	caller := info.Acting
	if info.Impersonated != nil {
		caller = info.Impersonated
	}
	if caller == nil {
		return false
	}
	return strings.HasPrefix(caller.GetName(), "system:kube-") || slices.ContainsFunc(caller.GetGroups(), isSystemGroup)
}

func isSystemGroup(name string) bool {
	return name == user.SystemPrivilegedGroup || name == user.NodesGroup ||
		name == serviceaccount.MakeNamespaceGroupName("kube-system")
}
