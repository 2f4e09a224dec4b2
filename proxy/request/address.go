package request

import "net/netip"

// ipv6Prefix is the network that counts as one address: what a provider assigns to one customer.
const ipv6Prefix = 64

// AddressKey returns the part of a remote address, host:port, that one client cannot choose freely: an
// IPv4 address, or the network of an IPv6 address. Callers without a name are limited by it.
func AddressKey(remote string) string {
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
