package table

import "sluice/codec/json"

var discoveryGroup = group{"discovery.k8s.io", []kind{
	{"EndpointSlice", versions("v1"), usual(
		text("AddressType", str("addressType")),
		text("Ports", quoted(slicePorts)),
		text("Endpoints", quoted(sliceAddresses)),
	)},
}}

// slicePorts prints the first ports: the number, or the name of a port without a number.
func slicePorts(dst []byte, r *row) []byte {
	return appendFirst(dst, r.object.Get("ports"), appendSlicePort)
}

func appendSlicePort(dst []byte, port json.Value) []byte {
	if n := port.Get("port"); present(n) {
		return appendInt(dst, n)
	}
	return appendOr(dst, port.Get("name"), "*")
}

// sliceAddresses prints the first addresses of all endpoints.
func sliceAddresses(dst []byte, r *row) []byte {
	list, start := shortlist{max: 3, sep: ","}, len(dst)
	for _, e := range r.object.Get("endpoints").Elements {
		for _, address := range e.Get("addresses").Elements {
			var ok bool
			if dst, ok = list.add(dst); ok {
				dst = appendScalar(dst, address)
			}
		}
	}
	return list.endOr(dst, start, unset)
}
