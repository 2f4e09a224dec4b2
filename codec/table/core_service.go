package table

import "sluice/codec/json"

var service = usual(
	text("Type", str("spec", "type")),
	text("Cluster-IP", quoted(clusterIP)),
	text("External-IP", quoted(externalIP)),
	text("Port(s)", quoted(servicePorts)),
	wide(text("Selector", labelsCell("spec", "selector"))),
)

// clusterIP prints the first cluster IP.
func clusterIP(dst []byte, r *row) []byte {
	for _, ip := range r.spec.Get("clusterIPs").Elements {
		return appendScalar(dst, ip)
	}
	return append(dst, none...)
}

// externalIP prints how the service is reached from outside the cluster, which depends on its type.
func externalIP(dst []byte, r *row) []byte {
	switch typ := r.spec.Get("type"); {
	case is(typ, "ClusterIP"), is(typ, "NodePort"):
		return appendExternal(dst, r, none)
	case is(typ, "LoadBalancer"):
		return balancerIP(dst, r)
	case is(typ, "ExternalName"):
		return appendScalar(dst, r.spec.Get("externalName"))
	}
	return append(dst, unknown...)
}

// balancerIP prints the addresses that the load balancer has assigned, then the service's external
// IPs.
func balancerIP(dst []byte, r *row) []byte {
	start := len(dst)
	dst = balancerAddresses(dst, r)
	if len(dst) == start {
		return appendExternal(dst, r, "<pending>")
	}
	if r.spec.Get("externalIPs").Len() > 0 {
		dst = appendExternal(append(dst, ','), r, "")
	}
	return dst
}

func appendExternal(dst []byte, r *row, instead string) []byte {
	ips := r.spec.Get("externalIPs")
	if ips.Len() == 0 {
		return append(dst, instead...)
	}
	return appendJoined(dst, ips, ",")
}

func servicePorts(dst []byte, r *row) []byte {
	start := len(dst)
	for i, p := range r.spec.Get("ports").Elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendServicePort(dst, p)
	}
	if len(dst) == start {
		dst = append(dst, none...)
	}
	return dst
}

// appendServicePort appends "port:nodePort/protocol".
func appendServicePort(dst []byte, p json.Value) []byte {
	dst = appendInt(dst, p.Get("port"))
	if n := p.Get("nodePort"); intOf(n) > 0 {
		dst = appendInt(append(dst, ':'), n)
	}
	return appendScalar(append(dst, '/'), p.Get("protocol"))
}
