package why

import "net/http"

// Question is a request that is asked about.
type Question struct {
	Method string      `json:"method"`
	URL    string      `json:"url"` // a path with a query
	Header http.Header `json:"header,omitempty"`
	// User and Groups are whom the request impersonates.
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
}
