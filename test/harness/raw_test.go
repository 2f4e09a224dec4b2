package harness

import (
	"bytes"
	"net/http"
	"testing"

	authnv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestRawClientUsesTheRequestedProtocol(t *testing.T) {
	for _, tc := range []struct {
		name  string
		http1 bool
		proto string
	}{
		{"http1", true, "HTTP/1.1"},
		{"http2", false, "HTTP/2.0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := apiserver.Raw("admin").Do(t.Context(), Request{Path: "/api/v1/namespaces?limit=1", HTTP1: tc.http1})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != http.StatusOK || got.Proto != tc.proto {
				t.Errorf("got %d over %s", got.Status, got.Proto)
			}
			if !bytes.HasPrefix(got.Body, []byte(`{"kind":"NamespaceList"`)) {
				t.Errorf("body %.60q", got.Body)
			}
		})
	}
}

func TestRawClientDoesNotDecompress(t *testing.T) {
	q := Request{Path: "/openapi/v2", Header: http.Header{"Accept-Encoding": {"gzip"}}}
	got, err := apiserver.Raw("admin").Do(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if got.Header.Get("Content-Encoding") != "gzip" || !bytes.HasPrefix(got.Body, []byte{0x1f, 0x8b}) {
		t.Errorf("headers %v, body starts with %x", got.Header, got.Body[:2])
	}
}

// whoami returns the user as whom the apiserver authenticates cfg.
func whoami(t *testing.T, cfg *rest.Config) (authnv1.UserInfo, error) {
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return authnv1.UserInfo{}, err
	}
	r, err := c.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authnv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authnv1.UserInfo{}, err
	}
	return r.Status.UserInfo, nil
}
