package authz

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

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
	apiserver.MustHave(t, "/api/v1/namespaces/default/serviceaccounts", named(name))
	return apiserver.Grant(t, "", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: name}, harness.MayRead("", "pods"))
}

// TestSidecarWithoutRightsServesItsOwnUser runs a gateway with the token of a service account that has no
// right but to read pods, as the sidecar of a workload does.
func TestSidecarWithoutRightsServesItsOwnUser(t *testing.T) {
	t.Parallel()
	revoke := createAccount(t, "workload")
	createAccount(t, "neighbor")
	upstream := apiserver.RESTConfig(harness.Anonymous)
	upstream.BearerToken = accountToken(t, "default", "workload")
	gateway := apiserver.StartSluice(t, harness.SluiceOptions{Config: selfConfig, Flags: []string{"--client-ca-file="}, Upstream: upstream})
	read := func(token string) (code int, source string) {
		t.Helper()
		resp := gateway.Raw(harness.Anonymous).MustDo(t, harness.Request{
			Path: "/api/v1/pods?resourceVersion=0", Header: http.Header{"Authorization": {"Bearer " + token}},
		})
		return resp.Status, resp.Header.Get("Sluice-Source")
	}
	mine := accountToken(t, "default", "workload") // another one than the gateway's
	harness.Eventually(t, "pods from the cache", func() error {
		if code, source := read(mine); code != http.StatusOK || !strings.HasPrefix(source, "cache") {
			return fmt.Errorf("%d, %s", code, source)
		}
		return nil
	})
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
