package table

var discoveryGroup = group{"discovery.k8s.io", []kind{
	{"EndpointSlice", versions("v1"), usual(
		text("AddressType", str("addressType")),
		text("Ports", quoted(slicePorts)),
		text("Endpoints", quoted(sliceAddresses)),
	)},
}}

// slicePorts prints the first ports: the number, or the name of a port without a number.
func slicePorts(dst []byte, r *row) []byte {
	list, start := shortlist{max: 3, sep: ","}, len(dst)
	for _, port := range r.object.Get("ports").Elements {
		var ok bool
		if dst, ok = list.add(dst); !ok {
			continue
		}
		if n := port.Get("port"); present(n) {
			dst = appendInt(dst, n)
		} else {
			dst = appendOr(dst, port.Get("name"), "*")
		}
	}
	return list.endOr(dst, start, unset)
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
