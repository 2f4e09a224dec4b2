package table

import (
	"bytes"

	"sluice/codec/json"
)

var endpoints = usual(text("Endpoints", quoted(endpointAddresses)))

// endpointAddresses prints the first ready addresses, each with each of its ports, or without a
// port if there are none.
func endpointAddresses(dst []byte, r *row) []byte {
	subsets := r.object.Get("subsets")
	if subsets.Len() == 0 {
		return append(dst, none...)
	}
	list := shortlist{max: 3, sep: ","}
	for _, s := range subsets.Elements {
		addresses, ports := s.Get("addresses"), s.Get("ports")
		if ports.Len() == 0 {
			dst = appendEndpoints(dst, &list, addresses, nil)
		}
		for _, p := range ports.Elements {
			dst = appendEndpoints(dst, &list, addresses, p.Get("port"))
		}
	}
	return list.end(dst)
}

func appendEndpoints(dst []byte, list *shortlist, addresses, port json.Value) []byte {
	for _, a := range addresses.Elements {
		var ok bool
		if dst, ok = list.add(dst); !ok {
			continue
		}
		if ip := bytesOf(a.Get("ip")); port == nil {
			dst = append(dst, ip...)
		} else {
			dst = appendHostPort(dst, ip, port)
		}
	}
	return dst
}

// appendHostPort appends "host:port", with an IPv6 address in brackets.
func appendHostPort(dst, host []byte, port json.Value) []byte {
	if bytes.IndexByte(host, ':') >= 0 {
		dst = append(append(append(dst, '['), host...), ']')
	} else {
		dst = append(dst, host...)
	}
	return appendInt(append(dst, ':'), port)
}
