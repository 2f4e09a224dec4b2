package security

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"sluice/test/harness"
)

// recorded waits until a log has n events about a request, and returns them in order.
func recorded(t *testing.T, log, id string, n int) (found []auditv1.Event) {
	t.Helper()
	harness.Eventually(t, log+" records "+id, func() error {
		text, err := os.ReadFile(filepath.Join(audits, log+".log"))
		if err != nil {
			return err
		}
		found = nil
		for line := range strings.Lines(string(text)) {
			var e auditv1.Event
			if !strings.HasSuffix(line, "\n") || !strings.Contains(line, id) {
				continue
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				return fmt.Errorf("%w: %s", err, line)
			}
			if string(e.AuditID) == id {
				found = append(found, e)
			}
		}
		if len(found) != n {
			return fmt.Errorf("%d events", len(found))
		}
		return nil
	})
	return found
}

// Auditors read both logs as one: the event of a cached read must say what the apiserver would have said of the
// same request, with the caller and whom it acts for (capsule-proxy and others audited as the proxy).
func TestCachedReadsAreAuditedAsTheApiserverAuditsThem(t *testing.T) {
	ns := plane.Namespace(t)
	harness.Eventually(t, "reads are served from the cache", func() error {
		resp := do(t, sluice.Raw("admin"), harness.Request{Path: "/api/v1/pods?resourceVersion=0"})
		if source := resp.Header.Get("Sluice-Source"); source != "cache; any-version" {
			return errors.New(source)
		}
		return nil
	})
	for _, tt := range []struct {
		name, user, path string
		header           http.Header
		stages           int
	}{
		{"list", "admin", "/api/v1/pods?resourceVersion=0", nil, 1},
		{"list of a namespace", "admin-cert", "/api/v1/namespaces/" + ns + "/pods?resourceVersion=0&labelSelector=a%3Db", nil, 1},
		{"missing object", "admin", "/api/v1/namespaces/" + ns + "/pods/none?resourceVersion=0", nil, 1},
		{"watch", "admin", "/api/v1/pods?watch=1&resourceVersion=0&timeoutSeconds=1", nil, 2},
		{"impersonation by token", "admin", "/api/v1/pods?resourceVersion=0&limit=500", http.Header{"Impersonate-User": {"joe"}, "Impersonate-Group": {"system:masters"}}, 1},
		{"impersonation by certificate", "admin-cert", "/api/v1/pods?resourceVersion=0&limit=500", http.Header{"Impersonate-User": {"joe"}, "Impersonate-Group": {"system:masters"}}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id := "id-" + strings.ReplaceAll(tt.name, " ", "-")
			r := harness.Request{Path: tt.path, Header: http.Header{"User-Agent": {"auditor"}, "Audit-Id": {id}}}
			maps.Copy(r.Header, tt.header)
			direct, cached := do(t, plane.Raw(tt.user), r), do(t, sluice.Raw(tt.user), r)
			if source := cached.Header.Get("Sluice-Source"); !strings.HasPrefix(source, "cache;") || cached.Status != direct.Status {
				t.Fatalf("%d from %q, the apiserver says %d", cached.Status, source, direct.Status)
			}
			want, got := recorded(t, "apiserver", id, tt.stages), recorded(t, "sluice", id, tt.stages)
			for i := range want {
				if want[i].ResponseStatus != nil { // the apiserver repeats a Status that is the whole response
					want[i].ResponseStatus = &metav1.Status{Code: want[i].ResponseStatus.Code}
				}
				maps.DeleteFunc(want[i].Annotations, func(key, _ string) bool { // where the apiserver was slow
					return strings.HasPrefix(key, "apiserver.latency.k8s.io/")
				})
				delete(got[i].Annotations, "sluice/source")
				delete(got[i].Annotations, "sluice/reason")
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(auditv1.Event{}, "RequestReceivedTimestamp", "StageTimestamp"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the apiserver (-), Sluice (+):\n%s", diff)
			}
		})
	}
}

// A request that passes is audited by the apiserver, once, under the ID that Sluice returns and logs.
func TestPassedRequestsAreAuditedOnceUnderTheirID(t *testing.T) {
	resp := do(t, sluice.Raw("nobody"), harness.Request{Path: "/api/v1/namespaces/default/secrets", Header: http.Header{"Impersonate-User": {"joe"}}})
	id := resp.Header.Get("Audit-Id")
	if e := recorded(t, "apiserver", id, 1)[0]; e.User.Username != "nobody" || e.ResponseStatus.Code != int32(resp.Status) {
		t.Errorf("%+v", e)
	}
	harness.Eventually(t, "the access log names the request "+id, func() error { // a moment after the client has its response
		if log := sluice.Log(); !strings.Contains(log, `"audit_id":"`+id+`"`) || !strings.Contains(log, `"user":"nobody","impersonated_user":"joe"`) {
			return errors.New("it does not")
		}
		return nil
	})
	again := do(t, sluice.Raw("admin"), harness.Request{Path: "/api/v1/namespaces/a%2Fb/pods"}) // refused
	if e := recorded(t, "sluice", again.Header.Get("Audit-Id"), 1)[0]; e.ResponseStatus.Code != 400 || e.Annotations["sluice/reason"] != "ambiguous-request" {
		t.Errorf("%+v", e)
	}
	recorded(t, "sluice", id, 0) // an event would have been written before
}
