package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Proxy is an optional listener for clients that reach the apiserver through an HTTP proxy: by
// HTTPS_PROXY, or by proxy-url in a kubeconfig.
type Proxy struct {
	// Listen is the address of the listener, host:port. If it is empty there is none.
	Listen string `json:"listen,omitempty"`
	// Hosts are the names of the apiserver, host:port. Sluice itself serves connections to them. None
	// means the address of the apiserver in the kubeconfig, the names of the Service kubernetes, and
	// KUBERNETES_SERVICE_HOST.
	Hosts []string `json:"hosts,omitempty"`
	// TLS is the certificate of the listener for clients that connect to the proxy by https; empty means
	// http. Either way the connection to the API inside is encrypted.
	TLS KeyPair `json:"tls,omitempty"`
}

func (x *Proxy) validate(p *problems) {
	if x.Listen != "" {
		p.address("proxy.listen", x.Listen)
	}
	for i, v := range x.Hosts {
		_, err := ParseDestination(v)
		p.check(err == nil, fmt.Sprintf("proxy.hosts[%d]", i), fmt.Sprintf("%q is not host:port", v))
	}
	p.pair("proxy.tls", x.TLS.CertFile, x.TLS.KeyFile)
}

// Destination is a host and port to which a client of the proxy connects. Two that are equal lead to
// the same place.
type Destination struct {
	Host string // a DNS name in lower case without a dot at its end, or an IP address without brackets
	Port uint16
}

// String returns the destination as host:port.
func (d Destination) String() string {
	return net.JoinHostPort(d.Host, strconv.Itoa(int(d.Port)))
}

var errDestination = errors.New("not host:port")

// ParseDestination parses host:port, as RFC 9110 defines the target of a CONNECT.
func ParseDestination(s string) (Destination, error) {
	host, port, err := net.SplitHostPort(s)
	n, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || n == 0 || host == "" {
		return Destination{}, errDestination
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	return Destination{strings.ToLower(strings.TrimSuffix(host, ".")), uint16(n)}, nil
}
