package see

import (
	"encoding/json"
	"net/http"
	"slices"

	"sluice/proxy/message"
	"sluice/proxy/why"
)

// Why shows the last requests, and why each was served, passed or refused.
type Why struct {
	Kept  *why.Ring
	Names bool // shows who has made them
}

// mostKept are the rows of the page; JSON has all.
const mostKept = 50

// handle serves the page, and the same as JSON.
func (o *Why) handle(mux *http.ServeMux, s *Sampler) {
	mux.HandleFunc("GET /why", func(w http.ResponseWriter, r *http.Request) { o.page(w, r, s) })
	mux.HandleFunc("GET /see/v1alpha1/why", o.list)
}

// whyView is the content of the page.
type whyView struct {
	Explanation *why.Explanation // of the request that the reader has chosen
	Error       string
	Show        string // the class of the requests below
	Classes     []string
	Kept        []why.Seen
}

// Mark is a shape for the verdict.
func (v *whyView) Mark() string {
	switch v.Explanation.Verdict {
	case why.Classes[why.KeptServed]:
		return "●"
	case why.Classes[why.KeptPassed]:
		return "▲"
	}
	return "■"
}

// page shows the last requests of a class, and the one that the reader has chosen.
func (o *Why) page(w http.ResponseWriter, r *http.Request, s *Sampler) {
	y := &whyView{Show: r.URL.Query().Get("show"), Classes: why.Classes[:]}
	if id := r.URL.Query().Get("last"); id != "" {
		if seen, found := o.Kept.Find(id, o.Names); found {
			y.Show, y.Explanation = seen.Class, seen.Explain()
		} else {
			y.Error = message.RequestForgotten.Say()
		}
	}
	class := max(slices.Index(y.Classes, y.Show), 0)
	y.Show = y.Classes[class]
	y.Kept = o.Kept.Last(class, o.Names)
	y.Kept = y.Kept[:min(len(y.Kept), mostKept)]
	v := newView(s.Facts(), "why")
	v.Why = y
	v.write(w)
}

// WhyList is the JSON of the last requests.
type WhyList struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Items      []why.Seen `json:"items"`
}

// WhyExplanation is the JSON of an explanation.
type WhyExplanation struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	*why.Explanation
	Request *why.Seen `json:"request,omitempty"`
}

// NewWhyExplanation returns the value of an explanation; the request is nil if it was not kept.
func NewWhyExplanation(e *why.Explanation, request *why.Seen) WhyExplanation {
	return WhyExplanation{"sluice/v1alpha1", "Explanation", e, request}
}

// list serves the last requests of a class, or the outcome of one.
func (o *Why) list(w http.ResponseWriter, r *http.Request) {
	if id := r.URL.Query().Get("last"); id != "" {
		seen, found := o.Kept.Find(id, o.Names)
		if !found {
			http.Error(w, message.RequestForgotten.Say(), http.StatusNotFound)
			return
		}
		writeJSON(w, NewWhyExplanation(seen.Explain(), &seen))
		return
	}
	class := max(slices.Index(why.Classes[:], r.URL.Query().Get("show")), 0)
	writeJSON(w, WhyList{"sluice/v1alpha1", "RequestList", o.Kept.Last(class, o.Names)})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // an error means that the client is gone
}
