package limits

import (
	"net/netip"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

// serviceAccountPrefix begins the user names of service accounts, before namespace and name.
const serviceAccountPrefix = "system:serviceaccount:"

// ByUser returns an authenticated caller. The service accounts of a namespace are one group: a user that may create service
// accounts gains no share by it.
func ByUser(u user.Info) Caller {
	name := u.GetName()
	group := "user:" + name
	if qualified, ok := strings.CutPrefix(name, serviceAccountPrefix); ok {
		namespace, _, _ := strings.Cut(qualified, ":")
		group = "namespace:" + namespace
	}
	return Caller{Group: group, Name: name, System: IsSystem(u)}
}

// ByAddress returns an unauthenticated caller, by its remote address.
func ByAddress(remote string) Caller {
	address := addressOf(remote)
	return Caller{Group: "address:" + address, Name: address}
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
