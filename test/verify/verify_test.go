package verify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/cmd/sluice/conformance"
	"sluice/test/harness"
)

const (
	// patience is so long that a busy machine is not taken for a broken proxy.
	patience = 30 * time.Second
	// idle is how long watches without events must stay open.
	idle = 3 * time.Second
)

var apiserver *harness.ControlPlane

func TestMain(m *testing.M) { harness.Main(m, 16, run) }

func run(m *testing.M) (code int, err error) {
	if apiserver, err = harness.StartMain(harness.Options{Sample: true}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, apiserver.Stop()) }()
	for _, name := range []string{"a", "b", "c"} {
		if err := post("/api/v1/namespaces/default/configmaps", fmt.Sprintf(`{"metadata":{"name":%q}}`, name)); err != nil {
			return 1, err
		}
	}
	const group, rbac = "wardle.example.com", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/"
	err = errors.Join(post("/apis/"+group+"/v1alpha1/namespaces/default/flunders",
		fmt.Sprintf(`{"apiVersion":"%s/v1alpha1","kind":"Flunder","metadata":{"name":"a"},"spec":{"reference":"b"}}`, group)),
		post(rbac+"roles", `{"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]}]}`),
		post(rbac+"rolebindings", `{"metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},
			"subjects":[{"kind":"User","name":"reader"}]}`))
	if err == nil {
		err = harness.Poll(context.Background(), readerMayList)
	}
	if err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// readerMayList returns an error until the apiserver knows the role of the reader.
func readerMayList() error {
	a, err := apiserver.Raw("reader").Get(context.Background(), "/api/v1/namespaces/default/configmaps", "application/json")
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("status is %d", a.Status)
	}
	return err
}

// post creates an object.
func post(path, object string) error {
	a, err := apiserver.Raw("admin").Do(context.Background(), harness.Request{
		Method: http.MethodPost, Path: path, Body: []byte(object), Header: http.Header{"Content-Type": {"application/json"}},
	})
	if err == nil && a.Status != http.StatusCreated {
		err = fmt.Errorf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return err
}

func client(t *testing.T, cfg *rest.Config) *conformance.Client {
	t.Helper()
	c, err := conformance.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// verify checks an endpoint.
func verify(t *testing.T, o conformance.Options) []conformance.Result {
	t.Helper()
	o.Namespace, o.Idle, o.Patience = "default", cmp.Or(o.Idle, idle), patience
	results, err := conformance.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// notWell returns the names of the rows that are neither well nor skipped, and the report.
func notWell(results []conformance.Result) (rows []string, report string) {
	for _, r := range results {
		if r.Verdict != conformance.OK && r.Verdict != conformance.Skipped && !slices.Contains(rows, r.Row) {
			rows = append(rows, r.Row)
		}
	}
	var text strings.Builder
	conformance.Write(&text, results)
	return rows, text.String()
}

// TestApiserverAndSluiceKeepEveryLaw also checks that no row says nothing: all have a resource that shows them.
func TestApiserverAndSluiceKeepEveryLaw(t *testing.T) {
	t.Parallel()
	sluice := apiserver.StartSluice(t)
	for name, o := range map[string]conformance.Options{
		"apiserver":                {Target: client(t, apiserver.RESTConfig("admin"))},
		"Sluice":                   {Target: client(t, sluice.RESTConfig("admin"))},
		"Sluice and the apiserver": {Target: client(t, sluice.RESTConfig("admin")), Against: client(t, apiserver.RESTConfig("admin"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results := verify(t, o)
			rows, report := notWell(results)
			if len(rows) > 0 {
				t.Errorf("%q:\n%s", rows, report)
			}
			for _, row := range conformance.Rows() {
				shown := func(r conformance.Result) bool { return r.Row == row.Name && r.Verdict == conformance.OK }
				if row.Name != "same objects" && !slices.ContainsFunc(results, shown) {
					t.Errorf("nothing shows %s:\n%s", row.Name, report)
				}
			}
			if !strings.Contains(report, "flunders.wardle.example.com") {
				t.Errorf("no extension server was read:\n%s", report)
			}
		})
	}
}

// TestVerifyReadsWhatTheUserMay runs the program as a user without rights, and as one who may list in one namespace.
func TestVerifyReadsWhatTheUserMay(t *testing.T) {
	t.Parallel()
	if out, err := sluiceVerify(t, "nobody", "-o", "json"); err == nil || !strings.Contains(out, "no resource") {
		t.Errorf("a user without rights: %v\n%s", err, out)
	}
	out, err := sluiceVerify(t, "reader", "-o", "json", "--idle", "2s", "--resource", "configmaps")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var results []conformance.Result
	if err := json.Unmarshal([]byte(out), &results); err != nil {
		t.Fatal(err)
	}
	got := map[string]conformance.Verdict{}
	for _, r := range results {
		got[r.Row] = r.Verdict
	}
	if got["list"] != conformance.OK || got["pages"] != conformance.OK || got["first event"] != conformance.Skipped {
		t.Errorf("the reader may list and not watch:\n%s", out)
	}
}

// TestVerifyFailsForABrokenRow is about the code and the words for people.
func TestVerifyFailsForABrokenRow(t *testing.T) {
	t.Parallel()
	broken := serve(t, proxy{request: without("limit")})
	out, err := sluiceVerify(t, "admin", "--row", "pages", "--row", "list", "--resource", "configmaps", "--against", broken.Host)
	if err == nil {
		t.Errorf("no error for an endpoint with another CA:\n%s", out)
	}
	o := conformance.Options{Target: client(t, broken), Rows: []string{"pages"}, Resources: []string{"configmaps"}}
	results := verify(t, o)
	_, report := notWell(results)
	for _, want := range []string{"broken   pages", "the limit was lost", "kubectl", "GET /api/v1/configmaps?limit=1 (Accept: application/json): 200 OK"} {
		if !strings.Contains(report, want) {
			t.Errorf("no %q in\n%s", want, report)
		}
	}
	if conformance.Check(results) == nil {
		t.Error("no error")
	}
}

// sluiceVerify runs the program as a user. It returns what it prints.
func sluiceVerify(t *testing.T, user string, args ...string) (string, error) {
	t.Helper()
	program, err := harness.Binary("sluice-race")
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"verify", "--conformance", "--kubeconfig", apiserver.Kubeconfig(user), "--patience", patience.String()}, args...)
	command := exec.CommandContext(t.Context(), program, args...)
	var out, log bytes.Buffer
	command.Stdout, command.Stderr = &out, &log
	err = command.Run()
	return out.String() + log.String(), err
}
