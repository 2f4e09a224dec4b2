package security

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// Metrics tell what a cluster has, and the configuration where Sluice is weak: beyond loopback they
// are for those whose roles allow it, and never in plain text.
func TestMetricsBeyondLoopbackAreForCallersWithTheRight(t *testing.T) {
	protected := plane.StartSluice(t, harness.SluiceOptions{Flags: []string{"--admin-listen=0.0.0.0:0", "--profiling=false"}})
	open := plane.StartSluice(t, harness.SluiceOptions{
		Config: "apiVersion: sluice/v1alpha1\nkind: Configuration\nadmin: {access: open}\n",
		Flags:  []string{"--admin-listen=0.0.0.0:0", "--profiling=false"},
	})
	for _, row := range []struct {
		from       *harness.Sluice
		user, path string
		code       int
	}{
		{protected, harness.Anonymous, "/livez", 200},
		{protected, harness.Anonymous, "/readyz?verbose", 200},
		{protected, harness.Anonymous, "/metrics", 401},
		{protected, "nobody", "/metrics", 403},
		{protected, "nobody-cert", "/metrics", 403},
		{protected, "admin", "/metrics", 200},
		{protected, "admin-cert", "/metrics", 200},
		{protected, "nobody", "/configz", 403},
		{protected, "admin", "/configz", 200},
		{open, harness.Anonymous, "/metrics", 200},
	} {
		_, port, _ := strings.Cut(strings.TrimPrefix(row.from.Admin, "https://[::]"), ":")
		config := rest.CopyConfig(row.from.RESTConfig(row.user))
		config.Host = "https://127.0.0.1:" + port
		raw, err := harness.NewRawClient(config)
		if err != nil {
			t.Fatal(err)
		}
		got, err := raw.Get(t.Context(), row.path, "*/*")
		raw.Close()
		if err != nil || got.Status != row.code {
			t.Errorf("%s for %q: %+v, %v, want %d", row.path, row.user, got, err, row.code)
		}
		plain, err := http.Get("http://127.0.0.1:" + port + row.path)
		if err != nil {
			t.Fatal(err)
		}
		plain.Body.Close()
		if plain.StatusCode != http.StatusBadRequest {
			t.Errorf("%s by plain HTTP: %s", row.path, plain.Status)
		}
	}
}
