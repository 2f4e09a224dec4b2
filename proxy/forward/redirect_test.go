package forward_test

import (
	"net/http"
	"strings"
	"testing"

	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// placeholder stands for the URL of the upstream in a location.
const placeholder = "UPSTREAM"

// TestRedirectsStayAtTheApiserver: CVE-2020-8559 and CVE-2022-3172. A client that follows a redirect
// sends its credentials along, and a pod behind the subresource proxy chooses where to.
func TestRedirectsStayAtTheApiserver(t *testing.T) {
	const refused = ""
	locations := map[string]string{
		"/login":                         "/login",
		"login?a=b#c":                    "login?a=b#c",
		"../x":                           "../x",
		placeholder + "/login%2F?a":      "/login%2F?a",
		"https://evil.example/":          refused,
		"//evil.example/x":               refused,
		"///evil.example/x":              refused,
		"////evil.example":               refused,
		`/\evil.example`:                 refused,
		`\\evil.example`:                 refused,
		"javascript:alert(1)":            refused,
		"http:evil.example":              refused,
		"https:":                         refused,
		"%zz":                            refused,
		placeholder + "//evil.example/x": refused,
		placeholder + ".evil.example/x":  refused,
		placeholder:                      refused,
	}
	for location, want := range locations {
		for _, code := range []int{301, 302, 303, 307, 308} {
			var e *forwardtest.Env
			e = forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, Handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", strings.Replace(location, placeholder, e.Upstream.URL, 1))
				w.WriteHeader(code)
			}})
			resp := e.Get(t, "/api/v1/namespaces/ns/services/web/proxy/", nil)
			if want == refused {
				if resp.StatusCode != http.StatusBadGateway || resp.Header.Get("Location") != "" {
					t.Errorf("%d to %q: %s to %q", code, location, resp.Status, resp.Header.Get("Location"))
				}
			} else if got := resp.Header.Get("Location"); resp.StatusCode != code || got != want {
				t.Errorf("%d to %q: %s to %q, want %q", code, location, resp.Status, got, want)
			}
		}
	}
}
