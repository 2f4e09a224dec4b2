package authz

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

const selfConfig = `
apiVersion: sluice/v1alpha1
kind: Configuration
authentication: {callers: self}
authorization: {allowTTL: 1s, denyTTL: 1s}
`

// createAccount creates a service account that may read pods until revoke is called.
func createAccount(t *testing.T, name string) (revoke func()) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: named(name)}
	if _, err := apiserver.Client("admin").CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return apiserver.Grant(t, "", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: name}, harness.MayRead("", "pods"))
}

// bearing returns a client configuration with a token and no other credentials.
func bearing(config *rest.Config, token string) *rest.Config {
	c := rest.AnonymousClientConfig(config)
	c.BearerToken = token
	return c
}

// TestSidecarWithoutRightsServesItsOwnUser runs a gateway with the token of a service account that has no
// right but to read pods, as the sidecar of a workload does.
func TestSidecarWithoutRightsServesItsOwnUser(t *testing.T) {
	t.Parallel()
	revoke := createAccount(t, "workload")
	createAccount(t, "neighbor")
	gateway := apiserver.StartSluice(t, harness.SluiceOptions{
		Config: selfConfig, Flags: []string{"--client-ca-file="},
		Upstream: bearing(apiserver.RESTConfig("admin"), accountToken(t, "default", "workload")),
	})
	read := func(token string) (code int, source string) {
		t.Helper()
		client, err := harness.NewRawClient(bearing(gateway.RESTConfig("admin"), token))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		resp, err := client.Get(t.Context(), "/api/v1/pods?resourceVersion=0", "application/json")
		if err != nil {
			t.Fatal(err)
		}
		return resp.Status, resp.Header.Get("Sluice-Source")
	}
	mine := accountToken(t, "default", "workload") // another one than the gateway's
	harness.Eventually(t, "pods from the cache", func() error { return served(read(mine)) })
	for _, tt := range []struct {
		name, token string
		code        int
	}{
		{"another user with the right", accountToken(t, "default", "neighbor"), http.StatusOK},
		{"an invalid token", "wrong", http.StatusUnauthorized},
	} {
		if code, source := read(tt.token); code != tt.code || !strings.HasPrefix(source, "upstream; unknown-caller") {
			t.Errorf("%s: %d, %s", tt.name, code, source)
		}
	}
	revoke()
	harness.Eventually(t, "the end of the right", func() error {
		if code, source := read(mine); code != http.StatusForbidden {
			return fmt.Errorf("%d, %s", code, source)
		}
		return nil
	})
}

func served(code int, source string) error {
	if code != http.StatusOK || !strings.HasPrefix(source, "cache") {
		return fmt.Errorf("%d, %s", code, source)
	}
	return nil
}
