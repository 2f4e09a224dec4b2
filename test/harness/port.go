package harness

import (
	"net/netip"
	"net/url"
	"syscall"
)

// reservation keeps the ports of servers that have stopped, until they have started again. Other
// packages of a go test run start many servers on port 0 meanwhile, which must not get them.
type reservation []int // sockets

// reserve reserves the ports of URLs with IP addresses. The sockets are bound but do not listen, so
// connections are refused, and the server can listen all the same: both have SO_REUSEADDR, as every
// listener of Go does. A port that cannot be reserved is left alone.
func (r *reservation) reserve(urls ...string) {
	r.release()
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			continue
		}
		address, err := netip.ParseAddrPort(u.Host)
		if err != nil {
			continue
		}
		if socket, err := bind(address); err == nil {
			*r = append(*r, socket)
		}
	}
}

// bind returns a socket that is bound to an address.
func bind(address netip.AddrPort) (socket int, err error) {
	family, to := syscall.AF_INET6, syscall.Sockaddr(&syscall.SockaddrInet6{Port: int(address.Port()), Addr: address.Addr().As16()})
	if address.Addr().Is4() {
		family, to = syscall.AF_INET, &syscall.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}
	}
	if socket, err = syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err != nil {
		return 0, err
	}
	if err = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err == nil {
		err = syscall.Bind(socket, to)
	}
	if err != nil {
		_ = syscall.Close(socket)
	}
	return socket, err
}

// release gives the ports back.
func (r *reservation) release() {
	for _, socket := range *r {
		_ = syscall.Close(socket)
	}
	*r = nil
}
