package verify

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"sluice/test/consistency/wire"
)

// serve starts a reverse proxy that breaks one thing, and returns how its clients reach it. request changes what is sent
// on, response changes lists of ConfigMaps; nil leaves everything as it is.
func serve(t *testing.T, to *rest.Config, request func(*http.Request), response func(*http.Response)) *rest.Config {
	t.Helper()
	_, cfg := wire.Front(t, to, func(reverse *httputil.ReverseProxy) http.Handler {
		rewrite := reverse.Rewrite
		reverse.Rewrite = func(r *httputil.ProxyRequest) {
			rewrite(r)
			if r.In.Method != http.MethodGet {
				t.Errorf("%s %s is not a read", r.In.Method, r.In.URL)
			}
			r.Out.Header.Del("Accept-Encoding") // for what it can change
			if request != nil {
				request(r.Out)
			}
		}
		reverse.ModifyResponse = func(r *http.Response) error {
			if response != nil && strings.HasSuffix(r.Request.URL.Path, "/configmaps") && r.StatusCode == http.StatusOK {
				response(r)
			}
			return nil
		}
		return reverse
	})
	return cfg
}

// inHTML has a page of what stands between in place of the list.
func inHTML(r *http.Response) {
	r.Header.Set("Content-Type", "text/html")
	setBody(r, []byte("<html><body>Something went wrong.</body></html>"))
}

// setBody replaces the body of a response.
func setBody(r *http.Response, body []byte) {
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Del("Content-Length")
}

// wrong changes the object b of a list, and has x in place of c.
func wrong(r *http.Response) {
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
		for i, o := range list.Items {
			switch name, _, _ := unstructured.NestedString(o, "metadata", "name"); name {
			case "b":
				o["data"] = map[string]any{"k": "canary"}
			case "c":
				list.Items[i] = map[string]any{"metadata": map[string]any{"namespace": "default", "name": "x", "resourceVersion": "1"}}
			}
		}
		raw, _ = json.Marshal(list)
	}
	setBody(r, raw)
}

// newer has something happen before a list of an exact version, and asks for the most recent one.
func newer(r *http.Request) {
	query := r.URL.Query()
	if query.Has("resourceVersion") && query.Get("resourceVersionMatch") == "Exact" {
		if err := apiserver.Create(r.Context(), "/api/v1/namespaces/default/events", `{"metadata":{"generateName":"e"},"involvedObject":{"namespace":"default"}}`); err != nil {
			panic(err)
		}
		query.Del("resourceVersion")
		query.Del("resourceVersionMatch")
		r.URL.RawQuery = query.Encode()
	}
}
