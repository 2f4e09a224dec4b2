package table

import "sluice/codec/json"

var internalGroup = group{"internal.apiserver.k8s.io", []kind{
	{"StorageVersion", versions("v1alpha1"), usual(
		text("CommonEncodingVersion", strOr(unset, "status", "commonEncodingVersion")),
		text("StorageVersions", quoted(serverVersions)),
	)},
}}

// serverVersions prints "server=version" for the first servers.
func serverVersions(dst []byte, r *row) []byte {
	return appendFirst(dst, r.status.Get("storageVersions"), func(dst []byte, v json.Value) []byte {
		dst = append(appendScalar(dst, v.Get("apiServerID")), '=')
		return appendScalar(dst, v.Get("encodingVersion"))
	})
}
