package proxy

import (
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"sluice/proxy/request"
)

// verbs are the apiserver's label values for verbs of RBAC.
var verbs = map[string]string{
	"get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT", "patch": "PATCH",
	"delete": "DELETE", "deletecollection": "DELETECOLLECTION",
	"head": "GET", "post": "POST", "put": "PUT", // of paths that are no resource
}

// verbOf returns the label verb of a request, as the apiserver's request metrics have it, so that queries for
// those select it.
func verbOf(r *http.Request, info *request.Info) string {
	if info.IsResourceRequest && info.Proxied() {
		return "CONNECT"
	}
	if info.Verb == "patch" && r.Header.Get("Content-Type") == string(types.ApplyYAMLPatchType) {
		return "APPLY"
	}
	if verb := verbs[info.Verb]; verb != "" {
		return verb
	}
	return other
}
