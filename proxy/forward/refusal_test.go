package forward_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// refusalOf returns an apiserver that refuses every request with a Status.
func refusalOf(err *apierrors.StatusError, protobuf bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		status := err.Status()
		body, media := []byte(nil), "application/json"
		if protobuf {
			raw, _ := status.Marshal()
			unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Status"}, Raw: raw}
			text, _ := unknown.Marshal()
			body, media = append([]byte("k8s\x00"), text...), "application/vnd.kubernetes.protobuf"
		} else {
			body, _ = json.Marshal(status)
		}
		w.Header().Set("Content-Type", media)
		w.WriteHeader(int(status.Code))
		_, _ = w.Write(body)
	}
}

func forbidden(resource, name, message string) *apierrors.StatusError {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, name, errors.New(message))
}

// An apiserver that has just started refuses Sluice until it has read its access rules. The caller, who
// did nothing wrong, would give up after a 403, and must not learn the name of Sluice.
func TestRefusalOfSluiceItselfIsToBeTriedAgain(t *testing.T) {
	const cannot = `User "sluice" cannot impersonate resource "users" in API group "" at the cluster scope`
	for _, row := range []struct {
		name   string
		err    *apierrors.StatusError
		caller request.Caller
		path   string
		want   int
	}{
		{"impersonation", forbidden("users", "jane", cannot), request.ClientCert, "/api/v1/pods", http.StatusServiceUnavailable},
		{"impersonation with a reason", forbidden("users", "jane", cannot+`: RBAC: clusterrole "sluice" not found`), request.ClientCert, "/api/v1/pods", http.StatusServiceUnavailable},
		{"constrained impersonation", forbidden("users", `a "b" c`, strings.Replace(cannot, "impersonate", "impersonate-on:user-info:list", 1)), request.ClientCert, "/api/v1/pods", http.StatusServiceUnavailable},
		{"watch", forbidden("groups", "dev", cannot), request.ClientCert, "/api/v1/pods?watch=1", http.StatusServiceUnavailable},
		{"credentials", apierrors.NewUnauthorized("Unauthorized"), request.ClientCert, "/api/v1/pods", http.StatusServiceUnavailable},

		{"the caller", forbidden("pods", "", `User "jane" cannot list resource "pods" in API group "" in the namespace "a"`), request.ClientCert, "/api/v1/pods", http.StatusForbidden},
		{"the caller, about an object with a telling name", forbidden("pods", `is forbidden: User "x" cannot impersonate resource `, `User "jane" cannot get resource "pods"`), request.ClientCert, "/api/v1/pods/x", http.StatusForbidden},
		{"an admission plugin", forbidden("pods", "x", "no"), request.ClientCert, "/api/v1/pods", http.StatusForbidden},
		{"a caller that impersonates by token", forbidden("users", "root", `User "jane" cannot impersonate resource "users"`), request.BearerToken, "/api/v1/pods", http.StatusForbidden},
		{"the token of the caller", apierrors.NewUnauthorized("Unauthorized"), request.BearerToken, "/api/v1/pods", http.StatusUnauthorized},
		{"a proxied server", apierrors.NewUnauthorized("Unauthorized"), request.ClientCert, "/api/v1/namespaces/a/services/s/proxy/", http.StatusUnauthorized},
	} {
		for _, protobuf := range []bool{false, true} {
			t.Run(row.name, func(t *testing.T) {
				s := forwardtest.Settings{Handler: refusalOf(row.err, protobuf), Caller: row.caller, User: jane}
				var header http.Header
				if row.caller == request.BearerToken {
					header = bearer("a-client's")
				}
				resp := forwardtest.New(t, s).Get(t, row.path, header)
				body, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != row.want {
					t.Errorf("%d %q, %v, want %d", resp.StatusCode, body, err, row.want)
				}
				refused := row.want == http.StatusServiceUnavailable
				if (resp.Header.Get("Retry-After") != "") != refused || refused && strings.Contains(string(body), "sluice") {
					t.Errorf("%v %q", resp.Header, body)
				}
			})
		}
	}
}
