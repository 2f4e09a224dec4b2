package response

import (
	"net/http"

	"sluice/proxy/request"
)

// Headers sets the headers that the apiserver sends with every response.
func Headers(h http.Header, p *request.Parsed) {
	h.Set("Audit-Id", p.AuditID)
	h.Set("Cache-Control", "no-cache, private")
}
