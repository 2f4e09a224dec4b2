package limits

import (
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Caller is the holder of places and memory. Callers of one Group share its part.
type Caller struct {
	Group    string
	Reserved bool // takes what is reserved, for system callers in most queues and ledgers, and loses nothing to others
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

// ByUser returns an authenticated caller. The service accounts of a namespace are one group: a user that may create service
// accounts gains no share by it.
func ByUser(u user.Info) Caller {
	name := u.GetName()
	group := "user:" + name
	if qualified, ok := strings.CutPrefix(name, serviceaccount.ServiceAccountUsernamePrefix); ok {
		namespace, _, _ := strings.Cut(qualified, serviceaccount.ServiceAccountUsernameSeparator)
		group = "namespace:" + namespace
	}
	return Caller{Group: group, Reserved: IsSystem(u)}
}

// ByAddress returns an unauthenticated caller, by its remote address.
func ByAddress(remote string) Caller {
	return Caller{Group: "address:" + addressOf(remote)}
}

// ipv6Prefix is the network that counts as one address, as a provider assigns it to one customer.
const ipv6Prefix = 64

// addressOf returns the part of a remote address, host:port, that one client cannot choose freely: an IPv4 address, or the
// network of an IPv6 address.
func addressOf(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is6() {
		network, _ := ip.Prefix(ipv6Prefix)
		return network.String()
	}
	return ip.String()
}
