package table

var internalGroup = group{"internal.apiserver.k8s.io", []kind{
	{"StorageVersion", versions("v1alpha1"), storageVersion},
}}

var storageVersion = newColumns(
	nameColumn,
	text("CommonEncodingVersion", storageVersionStatusDoc["commonEncodingVersion"], strOr(unset, "status", "commonEncodingVersion")),
	text("StorageVersions", storageVersionStatusDoc["storageVersions"], quoted(serverVersions)),
	ageColumn,
)

// serverVersions prints "server=version" for the first servers.
func serverVersions(dst []byte, r *row) []byte {
	list, start := shortlist{max: 3, sep: ","}, len(dst)
	for _, v := range r.status.Get("storageVersions").Elements {
		var ok bool
		if dst, ok = list.add(dst); ok {
			dst = append(appendScalar(dst, v.Get("apiServerID")), '=')
			dst = appendScalar(dst, v.Get("encodingVersion"))
		}
	}
	return list.endOr(dst, start, unset)
}
