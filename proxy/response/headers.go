package response

import (
	"net/http"

	"sluice/proxy/request"
)

// Headers sets the headers that the apiserver sends with every response.
func Headers(h http.Header, info *request.Info) {
	h.Set("Audit-Id", info.AuditID)
	h.Set("Cache-Control", "no-cache, private")
}
