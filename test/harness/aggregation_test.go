package harness

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// Also an example of how a test registers an API server of its own with the aggregator.
func TestAggregatorAuthenticatesByFrontProxyCertificate(t *testing.T) {
	const group = "wardle.example.com"
	backend := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis/"+group+"/v1/who" {
			fmt.Fprintf(w, "%s by %s", r.Header.Get("X-Remote-User"), r.TLS.PeerCertificates[0].Subject.CommonName)
		}
	}))
	backend.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	backend.StartTLS()
	t.Cleanup(backend.Close) // after the API service is deleted
	register(t, group, backend.URL)

	Eventually(t, "aggregated API", func() error {
		got, err := apiserver.Raw("admin").Get(t.Context(), "/apis/"+group+"/v1/who", "*/*")
		if err == nil && string(got.Body) != "admin by front-proxy-client" {
			err = fmt.Errorf("%d: %s", got.Status, got.Body)
		}
		return err
	})
}

// register creates the API service of a group that a server serves. It uses an external name because
// endpoints must not be loopback addresses.
func register(t *testing.T, group, server string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	ns := apiserver.Namespace(t)
	create(t, "/api/v1/namespaces/"+ns+"/services", fmt.Sprintf(`{"metadata":{"name":"backend"},
		"spec":{"type":"ExternalName","externalName":"localhost","ports":[{"port":%s}]}}`, port))
	name := "v1." + group
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		path := "/apis/apiregistration.k8s.io/v1/apiservices/" + name
		if _, err := apiserver.Raw("admin").Do(ctx, Request{Method: http.MethodDelete, Path: path}); err != nil {
			t.Error(err)
		}
	})
	create(t, "/apis/apiregistration.k8s.io/v1/apiservices", fmt.Sprintf(`{"metadata":{"name":%q},
		"spec":{"group":%q,"version":"v1","groupPriorityMinimum":100,"versionPriority":100,
		"insecureSkipTLSVerify":true,"service":{"namespace":%q,"name":"backend","port":%s}}}`, name, group, ns, port))
}

// create creates an object.
func create(t *testing.T, path, object string) {
	t.Helper()
	r := apiserver.Raw("admin")
	got, err := r.Do(t.Context(), Request{
		Method: http.MethodPost, Path: path, Body: []byte(object),
		Header: http.Header{"Content-Type": {"application/json"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != http.StatusCreated {
		t.Fatalf("POST %s: %d: %s", path, got.Status, got.Body)
	}
}
