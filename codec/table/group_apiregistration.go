package table

var apiRegistrationGroup = group{"apiregistration.k8s.io", []kind{
	{"APIService", versions("v1"), usual(
		text("Service", reference("Local", path("spec", "service"), "namespace", "name")),
		text("Available", quoted(apiServiceAvailable)),
	).with(rules{repeats: true})},
}}

// apiServiceAvailable prints the status of the condition Available, with the reason if the status
// is not True.
func apiServiceAvailable(dst []byte, r *row) []byte {
	c := condition(r.status.Get("conditions"), "Available")
	if c == nil {
		return append(dst, "Unknown"...)
	}
	status, reason := c.Get("status"), c.Get("reason")
	dst = appendScalar(dst, status)
	if is(status, "True") || empty(reason) {
		return dst
	}
	return append(appendScalar(append(dst, " ("...), reason), ')')
}
