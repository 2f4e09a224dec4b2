package security

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// do sends a request.
func do(t *testing.T, to *harness.RawClient, r harness.Request) *harness.Response {
	t.Helper()
	resp, err := to.Do(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// write changes an object at the apiserver and returns the response.
func write(t *testing.T, method, path, object string) []byte {
	t.Helper()
	resp, err := plane.Raw("admin").Write(t.Context(), method, path, object)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Body
}

// tokens returns n tokens of a new service account, and revokes them when revoke is called.
func tokens(t *testing.T, ns string, n int) (tokens []string, revoke func()) {
	t.Helper()
	accounts := "/api/v1/namespaces/" + ns + "/serviceaccounts"
	write(t, http.MethodPost, accounts, `{"metadata":{"name":"revoked"}}`)
	for range n {
		var issued authenticationv1.TokenRequest
		if err := json.Unmarshal(write(t, http.MethodPost, accounts+"/revoked/token", "{}"), &issued); err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, issued.Status.Token)
	}
	return tokens, func() { write(t, http.MethodDelete, accounts+"/revoked", "") }
}

func withToken(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// The apiserver answers 401 to a revoked token and closes the connection. With one connection for all,
// 13 of 100 writes of the administrator received 503. A 401 also ends what Sluice remembers of the token for an hour, so that
// it reads nothing from the cache any more.
func TestRevokedTokensFailNoWritesOfOthers(t *testing.T) {
	ns := plane.Namespace(t)
	revoked, revoke := tokens(t, ns, 20)
	const self = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	review := []byte(`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`)
	asRevoked := func(token string) harness.Request {
		h := withToken(token)
		h.Set("Content-Type", "application/json")
		return harness.Request{Method: http.MethodPost, Path: self, Header: h, Body: review}
	}
	cached := "/api/v1/namespaces/" + ns + "/pods?resourceVersion=0"
	for _, token := range revoked { // Sluice remembers them from here on
		resp := do(t, sluice.Raw(harness.Anonymous), harness.Request{Path: cached, Header: withToken(token)})
		if resp.Status != http.StatusForbidden {
			t.Fatalf("a good token: %d %s", resp.Status, resp.Body)
		}
	}
	revoke()
	for _, token := range revoked {
		plane.Raw(harness.Anonymous).AwaitStatus(t, http.StatusUnauthorized, asRevoked(token))
	}
	var requests sync.WaitGroup
	for i := range 100 {
		requests.Go(func() {
			path, object := "/api/v1/namespaces/"+ns+"/configmaps", fmt.Sprintf(`{"metadata":{"name":"c%d"}}`, i)
			if _, err := sluice.Raw("admin").Write(t.Context(), http.MethodPost, path, object); err != nil {
				t.Errorf("write %d of the administrator: %v", i, err)
			}
		})
		if i%5 == 0 {
			requests.Go(func() {
				resp, err := sluice.Raw(harness.Anonymous).Do(t.Context(), asRevoked(revoked[i/5]))
				if err != nil || resp.Status != http.StatusUnauthorized {
					t.Errorf("a revoked token: %+v, %v", resp, err)
				}
				resp, err = sluice.Raw(harness.Anonymous).Do(t.Context(), harness.Request{Path: cached, Header: withToken(revoked[i/5])})
				if err != nil || resp.Status != http.StatusUnauthorized || resp.Header.Get("Sluice-Source") != "upstream; unknown-caller" {
					t.Errorf("a read by a token that was rejected: %+v, %v", resp, err)
				}
			})
		}
	}
	requests.Wait()
}

// Connection: Authorization made the apiserver answer 401 and close the connection of all callers;
// Connection: Impersonate-User made the administrator's request one of the administrator (CVE-2021-31999,
// CVE-2022-23652).
func TestConnectionRemovesNoCredentials(t *testing.T) {
	for _, connection := range []string{
		"Authorization", "Impersonate-User", "impersonate-user, keep-alive", "X-Remote-User", "X-MY-GROUP", "Sec-WebSocket-Protocol",
	} {
		resp := do(t, sluice.Raw("admin"), harness.Request{
			Path: "/api/v1/secrets", HTTP1: true, Header: http.Header{"Connection": {connection}, "Impersonate-User": {"nobody"}},
		})
		var status metav1.Status
		if err := json.Unmarshal(resp.Body, &status); err != nil || resp.Status != http.StatusBadRequest || status.Reason != metav1.StatusReasonBadRequest {
			t.Errorf("Connection: %s: %d %s", connection, resp.Status, resp.Body)
		}
	}
	resp := do(t, sluice.Raw("admin"), harness.Request{Path: "/api/v1/secrets", HTTP1: true, Header: http.Header{"Impersonate-User": {"nobody"}}})
	if resp.Status != http.StatusForbidden {
		t.Errorf("without Connection: %d", resp.Status)
	}
}

// k/k#119631: front-proxy headers with configured names. Sluice is the front proxy of this apiserver.
func TestConfiguredFrontProxyHeadersOfClientsDoNotPass(t *testing.T) {
	forged := http.Header{
		"Content-Type": {"application/json"},
		"X-My-User":    {"admin"}, "x-my-group": {"system:masters"}, "X-Remote-Group": {"system:masters"}, "X-Remote-User": {"admin"},
		"X-My-Extra-Scopes": {"all"}, "X-My-Uid": {"0"},
	}
	for _, user := range []string{"nobody", "nobody-cert"} {
		harness.Eventually(t, "the names are known", func() error { // callers with certificates receive 503 before
			resp := do(t, sluice.Raw(user), harness.Request{
				Method: http.MethodPost, Path: "/apis/authentication.k8s.io/v1/selfsubjectreviews", Header: forged,
				Body: []byte(`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`),
			})
			if resp.Status == http.StatusServiceUnavailable {
				return fmt.Errorf("%s", resp.Body)
			}
			var self authenticationv1.SelfSubjectReview
			if err := json.Unmarshal(resp.Body, &self); err != nil || self.Status.UserInfo.Username != "nobody" ||
				bytes.Contains(resp.Body, []byte("masters")) || bytes.Contains(resp.Body, []byte("scopes")) {
				t.Errorf("%s: %d %s", user, resp.Status, resp.Body)
			}
			return nil
		})
	}
}
