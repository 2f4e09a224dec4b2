package verify

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"sluice/test/consistency/wire"
	"sluice/test/harness"
)

// proxy is a reverse proxy that breaks one thing. A nil function leaves everything as it is.
type proxy struct {
	// request changes what is sent to the apiserver.
	request func(*http.Request)
	// response changes what comes back.
	response func(*http.Response)
	// around serves some requests itself.
	around func(next http.Handler) http.Handler
	// sluice is behind the proxy; nil means the apiserver.
	sluice *harness.Sluice
}

// serve starts the proxy, and returns how the admin reaches it.
func serve(t *testing.T, p proxy) *rest.Config {
	t.Helper()
	admin := apiserver.RESTConfig("admin")
	if p.sluice != nil {
		admin = p.sluice.RESTConfig("admin")
	}
	_, cfg := wire.Front(t, admin, func(reverse *httputil.ReverseProxy) http.Handler {
		rewrite := reverse.Rewrite
		reverse.Rewrite = func(r *httputil.ProxyRequest) {
			rewrite(r)
			if r.In.Method != http.MethodGet {
				t.Errorf("%s %s is not a read", r.In.Method, r.In.URL)
			}
			if p.request != nil {
				p.request(r.Out)
			}
		}
		reverse.ModifyResponse = func(r *http.Response) error {
			if p.response != nil {
				p.response(r)
			}
			return nil
		}
		if p.around != nil {
			return p.around(reverse)
		}
		return reverse
	})
	return cfg
}

// without drops a parameter of the query.
func without(parameter string) func(*http.Request) {
	return func(r *http.Request) {
		query := r.URL.Query()
		query.Del(parameter)
		r.URL.RawQuery = query.Encode()
	}
}

// instead answers some requests with a body.
func instead(of func(*http.Request) bool, status int, contentType, body string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !of(r) {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Cache-Control", "no-cache, private")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
}

// html is a page of what stands between.
const html = "<html><body>Something went wrong.</body></html>"

// setBody replaces the body of a response.
func setBody(r *http.Response, body []byte) {
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Del("Content-Length")
}

func hasPath(path string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, path) }
}

func named(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// withoutItem drops an object from lists.
func withoutItem(name string) func(*http.Response) {
	return inLists(func(items []map[string]any) []map[string]any {
		return slices.DeleteFunc(items, func(o map[string]any) bool { return named(o) == name })
	})
}

// inLists changes the objects of lists.
func inLists(change func([]map[string]any) []map[string]any) func(*http.Response) {
	return func(r *http.Response) {
		if !strings.HasSuffix(r.Request.URL.Path, "/configmaps") || r.StatusCode != http.StatusOK {
			return
		}
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var list struct {
			Kind     string           `json:"kind"`
			Metadata map[string]any   `json:"metadata"`
			Items    []map[string]any `json:"items"`
		}
		if json.Unmarshal(raw, &list) == nil && list.Kind == "ConfigMapList" {
			list.Items = change(list.Items)
			raw, _ = json.Marshal(list)
		}
		setBody(r, raw)
	}
}

// newer forwards lists of an exact version without it, and has something happen before.
func newer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Has("resourceVersion") && query.Get("resourceVersionMatch") == "Exact" {
			if err := apiserver.Create(r.Context(), "/api/v1/namespaces/default/events", `{"metadata":{"generateName":"e"},"involvedObject":{"namespace":"default"}}`); err != nil {
				panic(err)
			}
			without("resourceVersion")(r)
			without("resourceVersionMatch")(r)
		}
		next.ServeHTTP(w, r)
	})
}
