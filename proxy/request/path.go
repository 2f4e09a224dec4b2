package request

// GroupVersionPath returns the path under which an apiserver serves a group and version: "/api/v1"
// for the core group, "/apis/apps/v1" for any other.
func GroupVersionPath(group, version string) string {
	if group == "" {
		return "/api/" + version
	}
	return "/apis/" + group + "/" + version
}
