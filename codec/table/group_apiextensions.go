package table

import (
	"slices"
	"strconv"
	"strings"
)

var apiExtensionsGroup = group{"apiextensions.k8s.io", []kind{
	{"CustomResourceDefinition", versions("v1"), newColumns(
		nameColumn,
		text("Scope", str("spec", "scope")),
		text("Versions", quoted(servedVersions)),
		createdColumn,
		wide(text("Group", str("spec", "group"))),
		wide(text("Kind", str("spec", "names", "kind"))),
		wide(text("ShortNames", joined("spec", "names", "shortNames"))),
		wide(boolean("Established", established)),
	).with(rules{nullRows: true})},
	{"CustomResourceDefinition", versions("v1"), defaultColumns}, // up to 1.36
}}

// servedVersions prints the names of the served versions in order, and which one is stored.
func servedVersions(dst []byte, r *row) []byte {
	var names []string
	for _, v := range r.spec.Get("versions").Elements {
		if !isTrue(v.Get("served")) {
			continue
		}
		name := string(bytesOf(v.Get("name")))
		if isTrue(v.Get("storage")) {
			name += "(storage)"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return append(dst, strings.Join(names, ",")...)
}

// established reports whether one of the conditions Established is true.
func established(dst []byte, r *row) []byte {
	return strconv.AppendBool(dst, hasTrue(r.status.Get("conditions"), "Established"))
}
