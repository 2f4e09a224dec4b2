package table

var migrationGroup = group{"storagemigration.k8s.io", []kind{
	{"StorageVersionMigration", versions("v1", "v1beta1"), newColumns(
		text("Name", nameCell),
		text("Resource", quoted(migratedResource)),
		text("Status", quoted(migrationState)),
	)},
}}

// migratedResource prints "resource.group".
func migratedResource(dst []byte, r *row) []byte {
	res := r.spec.Get("resource")
	dst = appendScalar(dst, res.Get("resource"))
	if g := res.Get("group"); !empty(g) {
		dst = appendScalar(append(dst, '.'), g)
	}
	return dst
}

// migrationState prints the last state that is true.
func migrationState(dst []byte, r *row) []byte {
	state := []byte("Unknown")
	for _, c := range r.status.Get("conditions").Elements {
		if !is(c.Get("status"), "True") {
			continue
		}
		switch t := bytesOf(c.Get("type")); string(t) {
		case "Running", "Failed", "Succeeded":
			state = t
		}
	}
	return append(dst, state...)
}
