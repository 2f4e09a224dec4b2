package response

import "net/http"

// Nowhere is a ResponseWriter that writes nothing, and holds the headers.
type Nowhere http.Header

// Header implements http.ResponseWriter.
func (n Nowhere) Header() http.Header { return http.Header(n) }

// Write implements http.ResponseWriter.
func (n Nowhere) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (n Nowhere) WriteHeader(int) {}
