package see

import (
	"bytes"
	"embed"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sluice/proxy/clients"
)

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(functions).ParseFS(assets, "assets/*.html"))

// policy lets the page load files of Sluice itself, and nothing inline.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// pages are those of a Sampler.
type pages struct{ *Sampler }

// Handler serves the pages and their JSON. It must be protected as metrics are.
func (s *Sampler) Handler() http.Handler { return (&pages{s}).handler() }

func (s *pages) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.overview)
	mux.HandleFunc("GET /limits", func(w http.ResponseWriter, _ *http.Request) { s.write(w, &view{Page: "limits"}) })
	mux.HandleFunc("GET /r/{resource}", s.resource)
	if s.options.Clients != nil {
		mux.HandleFunc("GET /clients", s.clients(func(r *http.Request) *clientsView { return s.newClientsView(r.URL.Query()) }))
		mux.HandleFunc("GET /watches", s.clients(func(r *http.Request) *clientsView { return s.newWatchesView(r.URL.Query()) }))
		mux.HandleFunc("GET /see/v1alpha1/clients", answer(s.clientList))
		mux.HandleFunc("GET /see/v1alpha1/watches", answer(s.watchList))
	}
	if s.options.Kept != nil {
		mux.HandleFunc("GET /why", s.why)
		mux.HandleFunc("GET /see/v1alpha1/why", answer(s.lastRequests))
	}
	mux.HandleFunc("GET /see/v1alpha1/status", s.json)
	mux.HandleFunc("GET "+guides+"{name...}", serveDocument)
	for _, name := range []string{"style.css", "icon.svg", "live.js"} {
		mux.HandleFunc("GET /see/"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, assets, "assets/"+name) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// view is the content of a page.
type view struct {
	*Facts
	Verdict  Verdict
	Page     string
	Table    *Table       // of resources
	Slow     float64      // open watches
	Resource *Resource    // of the page of a resource
	Passed   *Table       // the same: why its reads have passed
	Clients  *clientsView // of the pages of clients, watches and requests
}

// mostRows bounds the rows of a table. JSON has all of them.
const mostRows = 200

// overview serves the first page.
func (s *pages) overview(w http.ResponseWriter, _ *http.Request) {
	f := s.Facts()
	t := f.Table().Narrow().first("/see/v1alpha1/status")
	s.write(w, &view{Page: "overview", Table: t, Slow: s.slow()})
}

// resource serves the page of a resource.
func (s *pages) resource(w http.ResponseWriter, r *http.Request) {
	f := s.Facts()
	i := slices.IndexFunc(f.Resources, func(of Resource) bool { return of.Name == r.PathValue("resource") })
	if i < 0 {
		http.NotFound(w, r)
		return
	}
	v := &view{Page: "r/" + f.Resources[i].Name, Resource: &f.Resources[i], Passed: &Table{Columns: []Column{
		{Title: "Reason", Text: true, Reason: true}, {Title: "Reads"},
	}}}
	for _, reason := range slices.Sorted(maps.Keys(v.Resource.Passed)) {
		v.Passed.add(reason, count(v.Resource.Passed[reason]))
	}
	s.write(w, v)
}

// write writes a page with the facts of now.
func (s *pages) write(w http.ResponseWriter, v *view) {
	v.Facts = s.Facts()
	v.Verdict = Judge(v.Facts)
	var body bytes.Buffer
	if err := templates.ExecuteTemplate(&body, "layout.html", v); err != nil {
		panic(err) // every page is executed by tests
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = body.WriteTo(w) // an error means that the client is gone
}

// functions are the functions of templates.
var functions = map[string]any{
	"cores": cores, "size": size, "number": number, "seconds": seconds, "guide": guide, "count": count, "percent": percent, "lower": strings.ToLower,
	"name": nameOf, "outcomes": func() []string { return clients.Outcomes[:] }, "served": served, "bound": bound, "runbook": runbook,
	"optional": func(v *float64, unit string) string { return optional(v, format(unit)) },
	"of":       func(unit string, v float64) string { return format(unit)(v) },
	"class":    class,
	"outcome":  func(q url.Values) string { return clients.Outcomes[shown(q)] },
	"many":     func(n uint64) string { return count(float64(n)) },
}

// class returns the classes of a cell: a narrow screen shows no empty ones.
func class(c Column, of Cell) string {
	switch empty := of.Text == nothing; {
	case c.Text && empty:
		return "text none"
	case c.Text:
		return "text"
	case empty:
		return "none"
	}
	return ""
}

// Status is the JSON of the page.
type Status struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Verdict
	*Facts
}

func (s *pages) json(w http.ResponseWriter, _ *http.Request) {
	f := s.Facts()
	writeJSON(w, Status{clients.APIVersion, "Status", Judge(f), f})
}
