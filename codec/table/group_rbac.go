package table

var rbacGroup = group{"rbac.authorization.k8s.io", []kind{
	{"Role", versions("v1"), defaultColumns},
	{"ClusterRole", versions("v1"), defaultColumns},
	{"RoleBinding", versions("v1"), binding},
	{"ClusterRoleBinding", versions("v1"), binding},
}}

var binding = usual(
	text("Role", reference("/", path("roleRef"), "kind", "name")),
	wide(text("Users", subjects("User"))),
	wide(text("Groups", subjects("Group"))),
	wide(text("ServiceAccounts", subjects("ServiceAccount"))),
)

// subjects prints the names of the subjects of one kind; service accounts with their namespaces.
func subjects(kind string) cell {
	return quoted(func(dst []byte, r *row) []byte {
		list := shortlist{max: 1<<31 - 1, sep: ", "}
		for _, s := range r.object.Get("subjects").Elements {
			if !is(s.Get("kind"), kind) {
				continue
			}
			dst, _ = list.add(dst)
			if kind == "ServiceAccount" {
				dst = append(appendScalar(dst, s.Get("namespace")), '/')
			}
			dst = appendScalar(dst, s.Get("name"))
		}
		return dst
	})
}
