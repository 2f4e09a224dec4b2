package see

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"slices"
	"strings"
)

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(functions).ParseFS(assets, "assets/*.html"))

// policy lets the page load files of Sluice itself, and nothing inline.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Handler serves the pages, their JSON and their stream. It must be protected as metrics are.
func (s *Sampler) Handler() http.Handler {
	live := newLive(s)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page(func(*http.Request) string { return "overview" }))
	mux.HandleFunc("GET /limits", s.page(func(*http.Request) string { return "limits" }))
	mux.HandleFunc("GET /r/{resource}", s.page(func(r *http.Request) string { return "r/" + r.PathValue("resource") }))
	if s.options.Clients != nil {
		mux.HandleFunc("GET /clients", s.clients(func(r *http.Request) *clientsView { return s.clientLists.newClientsView(r.URL.Query()) }))
		mux.HandleFunc("GET /clients/{id}", s.clients(func(r *http.Request) *clientsView { return s.clientLists.newClientView(r.PathValue("id")) }))
		mux.HandleFunc("GET /watches", s.clients(func(r *http.Request) *clientsView { return s.newWatchesView(r.URL.Query()) }))
		mux.HandleFunc("GET /see/v1alpha1/clients", answer(s.clientLists.clientList))
		mux.HandleFunc("GET /see/v1alpha1/watches", answer(s.clientLists.watchList))
	}
	if s.options.Why != nil {
		s.options.Why.handle(mux, s)
	}
	mux.HandleFunc("GET /see/live", live.serve)
	mux.HandleFunc("GET /see/v1alpha1/status", s.json)
	mux.HandleFunc("GET "+guides+"{name...}", serveDocument)
	mux.HandleFunc("GET /see/style.css", asset("style.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /see/icon.svg", asset("icon.svg", "image/svg+xml"))
	mux.HandleFunc("GET /see/live.js", asset("live.js", "text/javascript; charset=utf-8"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

func asset(name, contentType string) http.HandlerFunc {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(text) // an error means that the client is gone
	}
}

// view is the content of a page.
type view struct {
	*Facts
	Verdict  Verdict
	Page     string
	Resource *Resource    // of the page of a resource
	Clients  *clientsView // of the pages of clients
	Shown    []Resource   // rows of the overview
	Why      *whyView     // of the page that answers questions
	Values   values
}

// mostRows bounds the rows of the overview. JSON has all of them.
const mostRows = 200

// More returns how many resources have no row.
func (v *view) More() int { return len(v.Resources) - len(v.Shown) }

// cell is a value that changes while the page is open.
type cell struct{ Key, Text string }

// V returns the cell with a key.
func (v *view) V(key string) cell { return cell{key, v.Values[key]} }

// line is a sparkline.
type line struct{ Key, Points, Label string }

// Line returns the sparkline with a key.
func (v *view) Line(key string) line {
	return line{key, v.Values["~"+key], v.Values["="+key]}
}

// row is one line of a table.
type row struct {
	*view
	Key      string
	Resource *Resource
	Limit    *Limit
}

// Rows returns a row for each resource.
func (v *view) Rows() []row {
	rows := make([]row, len(v.Shown))
	for i := range rows {
		r := &v.Shown[i]
		rows[i] = row{view: v, Key: r.Name, Resource: r}
	}
	return rows
}

// LimitRows returns a row for each limit.
func (v *view) LimitRows() []row {
	rows := make([]row, len(v.Limits))
	for i := range rows {
		rows[i] = row{view: v, Key: v.Limits[i].Name, Limit: &v.Limits[i]}
	}
	return rows
}

// Cell returns the cell of a column.
func (r row) Cell(column string) cell { return r.V(r.Key + "/" + column) }

// Spark returns the sparkline of the row.
func (r row) Spark() line { return r.Line(r.Key) }

// newView returns the view of a page; nil if there is no such page.
func newView(f *Facts, page string) *view {
	v := &view{Facts: f, Verdict: Judge(f), Page: page}
	v.Values = newValues(f, v.Verdict)
	switch name, ofResource := strings.CutPrefix(page, "r/"); {
	case page == "overview":
		v.Shown = f.Resources[:min(len(f.Resources), mostRows)]
		for i := range v.Shown {
			v.Values.resource(&v.Shown[i], f.Upstream.Fault.State != "")
		}
	case page == "clients", page == "why", page == "watches":
	case page == "limits":
		for _, l := range f.Limits {
			v.Values.limit(l)
		}
	case ofResource:
		i := slices.IndexFunc(f.Resources, func(r Resource) bool { return r.Name == name })
		if i < 0 {
			return nil
		}
		v.Resource = &f.Resources[i]
		v.Values.resource(v.Resource, f.Upstream.Fault.State != "")
	default:
		return nil
	}
	return v
}

func (s *Sampler) page(name func(*http.Request) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := newView(s.Facts(), name(r))
		if v == nil {
			http.NotFound(w, r)
			return
		}
		v.write(w)
	}
}

func (v *view) write(w http.ResponseWriter) {
	var body bytes.Buffer
	if err := templates.ExecuteTemplate(&body, "layout.html", v); err != nil {
		panic(err) // every page is executed by tests
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = body.WriteTo(w) // an error means that the client is gone
}

// Status is the JSON of the page.
type Status struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Verdict
	*Facts
}

func (s *Sampler) json(w http.ResponseWriter, _ *http.Request) {
	f := s.Facts()
	writeJSON(w, Status{"sluice/v1alpha1", "Status", Judge(f), f})
}
