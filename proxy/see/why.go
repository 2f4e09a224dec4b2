package see

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"sluice/proxy/clients"
	"sluice/proxy/why"
)

// shown returns the outcome that a query asks for: passed by default.
func shown(q url.Values) clients.Outcome {
	if i := slices.Index(clients.Outcomes[:], q.Get("show")); i >= 0 {
		return clients.Outcome(i)
	}
	return clients.Passed
}

// WhyList is the JSON of the last requests.
type WhyList struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Items      []why.Seen `json:"items"`
}

// lastRequests returns the requests that a query selects.
func (s *pages) lastRequests(q url.Values) WhyList {
	return WhyList{clients.APIVersion, "RequestList", s.options.Kept.Last(shown(q), q, s.options.Names)}
}

// why serves the page of the last requests.
func (s *pages) why(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	t := RequestTable(s.lastRequests(q).Items).first("/see/v1alpha1/why?" + q.Encode())
	s.write(w, &view{Page: "why", Clients: &clientsView{Query: q, Table: t}})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // an error means that the client is gone
}
