package see

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"sluice/proxy/clients"
	"sluice/proxy/why"
)

// mostKept are the rows of a page of requests; JSON has all.
const mostKept = 50

// requests are kept ones.
type requests []why.Seen

// table returns the table of the last of them.
func (all requests) table() *Table {
	slices.SortStableFunc(all, func(a, b why.Seen) int { return b.At.Compare(a.At) })
	return RequestTable(all[:min(len(all), mostKept)])
}

// whyView is the content of the page of the last requests.
type whyView struct {
	Show  string // the outcome of the requests below
	Query url.Values
	Table *Table
}

// Shows are the outcomes that can be shown, the first by default.
var Shows = []string{"passed", "served", "refused", "failed"}

// WhyList is the JSON of the last requests.
type WhyList struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Items      []why.Seen `json:"items"`
}

// lastRequests returns the requests that a query selects.
func (s *Sampler) lastRequests(q url.Values) WhyList {
	outcome := max(slices.Index(clients.Outcomes[:], q.Get("show")), 0)
	if !slices.Contains(Shows, q.Get("show")) {
		outcome = int(clients.Passed)
	}
	return WhyList{clients.APIVersion, "RequestList", s.options.Kept.Last(clients.Outcome(outcome), q, s.options.Names)}
}

// why serves the page of the last requests.
func (s *Sampler) why(w http.ResponseWriter, r *http.Request) {
	y := &whyView{Show: Shows[max(slices.Index(Shows, r.URL.Query().Get("show")), 0)], Query: r.URL.Query()}
	y.Table = requests(s.lastRequests(y.Query).Items).table()
	s.write(w, &view{Page: "why", Why: y})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // an error means that the client is gone
}
