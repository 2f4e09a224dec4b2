package table

import "bytes"

var networkingGroup = group{"networking.k8s.io", []kind{
	{"Ingress", versions("v1"), usual(
		text("Class", strOr(none, "spec", "ingressClassName")),
		text("Hosts", quoted(ingressHosts)),
		text("Address", quoted(balancerAddresses)),
		text("Ports", quoted(ingressPorts)),
	)},
	{"IngressClass", versions("v1"), newColumns(
		named(text("Name", quoted(nameOrDefault("ingressclass.kubernetes.io/is-default-class")))),
		text("Controller", str("spec", "controller")),
		text("Parameters", quoted(ingressParameters)),
		ageColumn,
	).with(rules{cellsSince: 36})},
	{"NetworkPolicy", versions("v1"), usual(text("Pod-Selector", selectorCell("spec", "podSelector")))},
	{"ServiceCIDR", versions("v1", "v1beta1"), usual(text("CIDRs", joined("spec", "cidrs")))},
	// A row has three cells, although the apiserver defines two columns.
	{"IPAddress", versions("v1", "v1beta1"), newColumns(
		nameColumn,
		text("ParentRef", quoted(parentRef)),
		hidden(ageColumn),
	)},
}}

// ingressHosts prints the first three hosts. Rules without a host are skipped, but they count in
// the number of rules that are left out.
func ingressHosts(dst []byte, r *row) []byte {
	const most = 3
	hosts, more, rules := 0, false, r.spec.Get("rules")
	for _, rule := range rules.Elements {
		host := rule.Get("host")
		switch {
		case hosts == most:
			more = true
		case empty(host):
		default:
			if hosts++; hosts > 1 {
				dst = append(dst, ',')
			}
			dst = appendScalar(dst, host)
		}
	}
	switch {
	case hosts == 0:
		return append(dst, '*')
	case more:
		return appendMore(dst, rules.Len()-most)
	}
	return dst
}

func ingressPorts(dst []byte, r *row) []byte {
	if r.spec.Get("tls").Len() > 0 {
		return append(dst, "80, 443"...)
	}
	return append(dst, "80"...)
}

// balancerAddresses prints the addresses that a load balancer has assigned, sorted: the IP, or the
// hostname of an address without one.
func balancerAddresses(dst []byte, r *row) []byte {
	r.parts = r.parts[:0]
	for _, in := range r.status.Get("loadBalancer", "ingress").Elements {
		if a := filled(in.Get("ip"), in.Get("hostname")); !empty(a) {
			r.parts = append(r.parts, bytesOf(a))
		}
	}
	return appendSorted(dst, r.parts)
}

// nameOrDefault prints the name, marked if one of the annotations makes this the default class.
func nameOrDefault(annotations ...string) printer {
	return func(dst []byte, r *row) []byte {
		dst = appendScalar(dst, r.name())
		for _, a := range annotations {
			if r.annotated(a, "true") && !r.older {
				return append(dst, " (default)"...)
			}
		}
		return dst
	}
}

// ingressParameters prints "Kind.group/name".
func ingressParameters(dst []byte, r *row) []byte {
	p := r.spec.Get("parameters")
	if !present(p) {
		return append(dst, none...)
	}
	dst = appendScalar(dst, p.Get("kind"))
	if g := p.Get("apiGroup"); present(g) {
		dst = appendScalar(append(dst, '.'), g)
	}
	return appendScalar(append(dst, '/'), p.Get("name"))
}

// parentRef prints "resource.group/namespace/name".
func parentRef(dst []byte, r *row) []byte {
	p := r.spec.Get("parentRef")
	if !present(p) {
		return append(dst, none...)
	}
	dst = append(dst, bytes.ToLower(bytesOf(p.Get("resource")))...)
	if g := bytesOf(p.Get("group")); len(g) > 0 {
		dst = append(append(dst, '.'), bytes.ToLower(g)...)
	}
	if n := p.Get("namespace"); !empty(n) {
		dst = appendScalar(append(dst, '/'), n)
	}
	return appendScalar(append(dst, '/'), p.Get("name"))
}
