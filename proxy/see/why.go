package see

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"sluice/proxy/message"
	"sluice/proxy/why"
)

// Why answers why a request is served, passed or refused.
type Why struct {
	// Explain says what would become of a request of the reader, whom the context names.
	Explain func(context.Context, why.Question) (*why.Explanation, error)
	// MayAsk reports whether the reader may make a request, and so may see what it asks for.
	MayAsk func(context.Context, why.Question) bool
	Kept   *why.Ring // the last requests
	Names  bool      // shows who has made them
}

const (
	mostQuestion = 64 << 10 // bytes of a question
	mostKept     = 50       // rows of the page; JSON has all
)

// handle serves the page, and the same as JSON. Other sites cannot ask: their forms are refused, although a question
// changes nothing.
func (o *Why) handle(mux *http.ServeMux, s *Sampler) {
	guard := http.NewCrossOriginProtection()
	mux.HandleFunc("GET /why", func(w http.ResponseWriter, r *http.Request) { o.page(w, r, s, why.Question{}, false) })
	mux.Handle("POST /why", guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := questionOf(w, r)
		if err != nil {
			http.Error(w, message.BadQuestion.Say(err), http.StatusBadRequest)
			return
		}
		o.page(w, r, s, q, true)
	})))
	mux.HandleFunc("GET /see/v1alpha1/why", o.list)
	mux.Handle("POST /see/v1alpha1/why", guard.Handler(http.HandlerFunc(o.explain)))
}

// whyView is what the page shows.
type whyView struct {
	Question    why.Question
	Headers     string // of the question, a line each
	Explanation *why.Explanation
	Error       string
	Seen        *why.Seen // the request that the reader has chosen
	Hidden      bool      // the reader may not see what that has asked for
	Show        string    // the class of the requests below
	Classes     []string
	Kept        []why.Seen
}

// Mark is a shape for the verdict.
func (v *whyView) Mark() string {
	switch v.Explanation.Verdict {
	case why.Served:
		return "●"
	case why.Passed:
		return "▲"
	}
	return "■"
}

// page shows the form, and what the reader has asked, or which request it has chosen.
func (o *Why) page(w http.ResponseWriter, r *http.Request, s *Sampler, q why.Question, asked bool) {
	v := newView(s.Facts(), "why")
	y := &whyView{Question: q, Show: r.URL.Query().Get("show"), Classes: why.Classes[:]}
	v.Why = y
	if id := r.URL.Query().Get("last"); id != "" {
		o.choose(r, y, id)
	}
	if asked {
		var err error
		if y.Explanation, err = o.Explain(r.Context(), q); err != nil {
			y.Error = message.BadQuestion.Say(err)
		}
	}
	class := max(slices.Index(y.Classes, y.Show), 0)
	y.Show = y.Classes[class]
	y.Kept = o.Kept.Last(class, o.Names)
	y.Kept = y.Kept[:min(len(y.Kept), mostKept)]
	for _, name := range slices.Sorted(maps.Keys(y.Question.Header)) {
		y.Headers += name + ": " + strings.Join(y.Question.Header[name], ", ") + "\n"
	}
	v.write(w)
}

// choose shows one of the last requests, and fills the form with it if the reader may make it.
func (o *Why) choose(r *http.Request, y *whyView, id string) {
	seen, q, found := o.find(r.Context(), id)
	if !found {
		y.Error = message.RequestForgotten.Say()
		return
	}
	y.Seen, y.Show, y.Explanation, y.Hidden = &seen, seen.Class, seen.Explain(), q == nil
	if q != nil {
		y.Question = *q
	}
}

// find returns one of the last requests, and what it has asked for if the reader may see that.
func (o *Why) find(ctx context.Context, id string) (seen why.Seen, q *why.Question, found bool) {
	if seen, found = o.Kept.Find(id, o.Names); !found {
		return seen, nil, false
	}
	if q = seen.Question(); q != nil && !o.MayAsk(ctx, *q) {
		q = nil
	}
	return seen, q, true
}

// questionOf reads the form.
func questionOf(w http.ResponseWriter, r *http.Request) (why.Question, error) {
	r.Body = http.MaxBytesReader(w, r.Body, mostQuestion)
	if err := r.ParseForm(); err != nil {
		return why.Question{}, errors.New("the form cannot be read")
	}
	q := why.Question{Method: r.PostForm.Get("method"), URL: strings.TrimSpace(r.PostForm.Get("url")), User: r.PostForm.Get("user")}
	q.Groups = strings.FieldsFunc(r.PostForm.Get("groups"), func(c rune) bool { return c == ',' || c == ' ' })
	var err error
	q.Header, err = why.ParseHeader(r.PostForm.Get("headers"))
	return q, err
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
	Request  *why.Seen     `json:"request,omitempty"`
	Question *why.Question `json:"question,omitempty"` // of a request that the reader may see
}

// list serves the last requests of a class, or what became of one.
func (o *Why) list(w http.ResponseWriter, r *http.Request) {
	if id := r.URL.Query().Get("last"); id != "" {
		seen, q, found := o.find(r.Context(), id)
		if !found {
			http.Error(w, message.RequestForgotten.Say(), http.StatusNotFound)
			return
		}
		writeJSON(w, WhyExplanation{"sluice/v1alpha1", "Explanation", seen.Explain(), &seen, q})
		return
	}
	class := max(slices.Index(why.Classes[:], r.URL.Query().Get("show")), 0)
	writeJSON(w, WhyList{"sluice/v1alpha1", "RequestList", o.Kept.Last(class, o.Names)})
}

var errNoJSON = errors.New("it is no short JSON")

// explain serves an explanation.
func (o *Why) explain(w http.ResponseWriter, r *http.Request) {
	var q why.Question
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostQuestion))
	if media != "application/json" || err != nil || json.Unmarshal(text, &q) != nil {
		http.Error(w, message.BadQuestion.Say(errNoJSON), http.StatusBadRequest)
		return
	}
	e, err := o.Explain(r.Context(), q)
	if err != nil {
		http.Error(w, message.BadQuestion.Say(err), http.StatusBadRequest)
		return
	}
	writeJSON(w, WhyExplanation{"sluice/v1alpha1", "Explanation", e, nil, nil})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // an error means that the client is gone
}
