package fake

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/codec"
	"sluice/proxy/upstream"
	"sluice/test/support/proxytest"
)

// newest is the version of the apiserver in lists of metadata without a step.
const newest = 1 << 53

// Step responds to one call. The calls are "discovery", "version", "first list", "features", "crd", "table", "metadata" and
// "metadata watch" for lists and watches of metadata, "watchlist", "compressed watchlist" for one that accepts gzip,
// "watch VERSION", "page" and "page TOKEN".
type Step = struct {
	Call    string
	Respond http.HandlerFunc
}

// APIServer serves one resource by a script. Calls that describe the resource are served without a
// step, unless theirs is next. When the script is over, watches stay open without events.
type APIServer struct {
	t        *testing.T
	resource Resource

	mu    sync.Mutex // guards all below
	steps []Step
	calls []Call
	crds  http.HandlerFunc // lists CRDs; nil refuses that
}

// Call is a call that a step responded to, or one after the script.
type Call struct {
	Name   string
	Accept string
	At     time.Time
}

// New returns an APIServer of a resource.
func New(t *testing.T, r Resource, steps []Step) *APIServer {
	return &APIServer{t: t, resource: r, steps: steps}
}

// Upstream serves over connections in memory and returns the Upstream that leads there, until the
// returned function is called.
func (a *APIServer) Upstream() (*upstream.Upstream, func()) {
	a.t.Helper()
	server := proxytest.Serve(a)
	u, err := upstream.New(upstream.Options{Config: &rest.Config{Host: "http://apiserver", Dial: server.Dial}})
	if err != nil {
		a.t.Fatal(err)
	}
	return u, func() {
		u.Close()
		server.Close(a.t)
	}
}

// SetCRDs sets the response to lists of CRDs, which are no calls of a script.
func (a *APIServer) SetCRDs(respond http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.crds = respond
}

// SetSteps replaces the script.
func (a *APIServer) SetSteps(steps []Step) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steps = steps
}

// Calls returns the calls so far, without those served as description.
func (a *APIServer) Calls() []Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Call(nil), a.calls...)
}

// CheckPlayed fails the test if part of the script is left.
func (a *APIServer) CheckPlayed(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.steps {
		t.Errorf("no call of %q; calls are %v", s.Call, a.calls)
	}
}

func (a *APIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.next(r)(w, r) }

func (a *APIServer) next(r *http.Request) http.HandlerFunc {
	name := callOf(r)
	a.mu.Lock()
	defer a.mu.Unlock()
	scripted := len(a.steps) > 0 && a.steps[0].Call == name
	if description := a.description(name, r); description != nil && !scripted {
		return description
	}
	if len(a.steps) > 0 && !scripted {
		a.t.Errorf("call after %v is %q, want %q", a.calls, name, a.steps[0].Call)
		return Refuse(http.StatusTeapot)
	}
	a.calls = append(a.calls, Call{name, r.Header.Get("Accept"), time.Now()})
	if !scripted {
		return a.resource.Stream()
	}
	respond := a.steps[0].Respond
	a.steps = a.steps[1:]
	return respond
}

// callOf names a request.
func callOf(r *http.Request) string {
	q, accept := r.URL.Query(), r.Header.Get("Accept")
	list := slices.Contains([]string{"configmaps", "csinodes", "widgets"}, path.Base(r.URL.Path))
	switch {
	case strings.HasSuffix(r.URL.Path, "/customresourcedefinitions"):
		return "crds"
	case strings.Contains(r.URL.Path, "customresourcedefinitions"):
		return "crd"
	case r.URL.Path == "/version":
		return "version"
	case strings.HasSuffix(r.URL.Path, "/apiservices"):
		return "aggregator"
	case !list:
		return "discovery"
	case q.Has("shardSelector"):
		return "features"
	case strings.Contains(accept, "as=Table"):
		return "table"
	case strings.Contains(accept, codec.MediaCBOR) && q.Get("limit") == "1":
		return "first list in CBOR"
	case q.Has("sendInitialEvents") && r.Header.Get("Accept-Encoding") != "":
		return "compressed watchlist"
	case strings.Contains(accept, "as=Partial") && q.Has("watch"):
		return "metadata watch"
	case strings.Contains(accept, "as=Partial"):
		return "metadata"
	case q.Has("sendInitialEvents"):
		return "watchlist"
	case q.Has("watch"):
		return "watch " + q.Get("resourceVersion")
	case q.Get("limit") == "1":
		return "first list"
	case !q.Has("limit"):
		return "list without limit"
	}
	return strings.TrimSpace("page " + q.Get("continue"))
}

// description responds to a call that describes the resource or reads the version of the apiserver; it
// is nil for other calls.
func (a *APIServer) description(name string, r *http.Request) http.HandlerFunc {
	switch name {
	case "metadata":
		if r.URL.Query().Get("limit") != "1" {
			return nil
		}
		return AtVersion(newest)
	case "metadata watch":
		return Refuse(http.StatusGone) // its history is as short as can be
	case "discovery":
		return a.resource.Discovery()
	case "version":
		return Release("v1.36.0")
	case "aggregator":
		return Refuse(http.StatusNotFound) // there is no aggregator
	case "first list", "features": // it knows none
		return Body(codec.MediaJSON, a.resource.FirstList())
	case "first list in CBOR":
		return a.resource.PageBody("1", "")
	case "compressed watchlist":
		return Refuse(http.StatusUnprocessableEntity)
	case "crds":
		if a.crds == nil {
			return Refuse(http.StatusForbidden)
		}
		return a.crds
	case "crd":
		return Body(codec.MediaJSON, []byte(`{"spec":{"versions":[{"name":"v1"}],`+WidgetNames+`}`))
	case "table":
		return Refuse(http.StatusNotAcceptable)
	}
	return nil
}
