package deploy

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// Alerts by the fault that fires them.
var (
	changed = []string{"SluiceConfigOutdated a", "SluiceReviewsFail c", "SluiceReadsPass", "SluiceCertificateExpires a"}
	killed  = []string{"SluiceUpstreamErrors c", "SluiceCannotUseApiserver c", "SluiceStoreDisconnected c", "SluiceErrorBudgetBurn"}
	stopped = []string{"SluiceDown"}
)

// TestEachAlertHasAFault: tests below fire each alert by a fault with a real Prometheus.
func TestEachAlertHasAFault(t *testing.T) {
	fired := map[string]bool{}
	for _, alert := range slices.Concat(changed, killed, stopped, refused, []string{lost, stale}) {
		name, _, _ := strings.Cut(alert, " ")
		fired[name] = true
	}
	for _, rule := range alerts(t, objects(t, charted(t, "components"))) {
		if name := rule["alert"].(string); !fired[name] {
			t.Errorf("no fault fires %s", name)
		}
	}
}

// sluiceRights is the role of a gateway in front of a control plane of package harness.
const sluiceRights = "controlplane:sluice"

// TestFaultsFireAlertsAndRepairEndsThem makes faults with a real Prometheus.
func TestFaultsFireAlertsAndRepairEndsThem(t *testing.T) {
	t.Parallel()
	all := objects(t, charted(t, "components"))
	panels, rules := curves(t, all), alerts(t, all)
	well, broken := harness.Start(t), harness.Start(t)
	cert, key, err := well.ClientCertificate(pkix.Name{CommonName: "sni.example.com"}) // which is valid for a day
	if err != nil {
		t.Fatal(err)
	}
	certificate := filepath.Join(t.TempDir(), "sni")
	write(t, certificate+".key", string(key))
	write(t, certificate+".crt", string(cert))
	const head = "{apiVersion: sluice/v1alpha1, kind: Configuration"
	config := head + ", tls: {sni: [{certFile: " + certificate + ".crt, keyFile: " + certificate + ".key}]}}"
	a := well.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Config: config})
	b := well.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Config: head + ", authentication: {tokens: false}}"})
	c := broken.StartSluice(t, harness.SluiceOptions{Binary: "sluice"})
	m := startPrometheus(t, rules, map[string]*harness.Sluice{"a": a, "b": b, "c": c})
	for _, s := range []*harness.Sluice{a, c} {
		s.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	}
	watch(t, a, "/api/v1/events?watch=1") // passes
	watch(t, a, "/api/v1/configmaps?watch=1&resourceVersion=0")
	requests(t, map[*harness.Sluice]string{a: "admin", c: "admin-cert"})
	stopUnknown := requests(t, map[*harness.Sluice]string{b: "admin"}) // by a token, which is not reviewed

	// A typing error, callers who are not known, a right that is taken away, a certificate of a day.
	path := filepath.Join(a.Dir, "config.yaml")
	write(t, path, config+" typing error")
	rights := broken.Client("admin").RbacV1().ClusterRoles()
	role, err := rights.Get(t.Context(), sluiceRights, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reviews := func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "tokenreviews") }
	role.Rules = slices.DeleteFunc(role.Rules, reviews)
	if _, err := rights.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	requests(t, map[*harness.Sluice]string{a: "nobody", c: "nobody"}) // who take seats
	m.awaitFiring(t, changed...)
	for _, file := range []string{".key", ".crt"} {
		long, err := os.ReadFile(filepath.Join(well.Dir, "apiserver"+file))
		if err != nil {
			t.Fatal(err)
		}
		write(t, certificate+file, string(long))
	}
	write(t, path, config)
	stopUnknown()
	requests(t, map[*harness.Sluice]string{b: "admin-cert"})

	// An apiserver that is killed; its start gives back the rights, too.
	broken.Kill()
	m.awaitFiring(t, killed...)
	m.awaitData(t, panels...)
	broken.Restart(t)
	m.awaitQuiet(t)

	// Processes that answer no more.
	for _, s := range []*harness.Sluice{a, b, c} {
		signal(t, s, syscall.SIGSTOP)
		defer signal(t, s, syscall.SIGCONT)
	}
	m.awaitFiring(t, stopped...)
	for _, s := range []*harness.Sluice{a, b, c} {
		signal(t, s, syscall.SIGCONT)
	}
	m.awaitQuiet(t)
}

// requests sends requests of all kinds through gateways, as a user of each, until stop is called or the test ends.
func requests(t *testing.T, users map[*harness.Sluice]string) (stop func()) {
	var stops []func()
	for s, user := range users {
		raw, n := s.Raw(user), 0
		stops = append(stops, repeat(t, func(ctx context.Context) {
			n++
			object := fmt.Sprintf(`{"metadata":{"name":"load","annotations":{"n":"%d"}}}`, n)
			const one = "/api/v1/namespaces/default/configmaps/load"
			for _, q := range []harness.Request{
				{Path: "/api/v1/configmaps?resourceVersion=0"}, {Path: "/api/v1/configmaps?watch=1&timeoutSeconds=1"},
				{Path: "/api/v1/secrets"}, {Path: one}, {Path: one + "?resourceVersion=0"},
				{Method: "POST", Path: "/api/v1/namespaces/default/configmaps", Body: []byte(object)},
				{Method: "PATCH", Path: one, Body: []byte(object)},
			} {
				q.Header = http.Header{"Content-Type": {"application/json"}}
				if q.Method == "PATCH" {
					q.Header.Set("Content-Type", "application/merge-patch+json")
				}
				limited, cancel := context.WithTimeout(ctx, 2*time.Second)
				_, _ = raw.Do(limited, q) // many fail, by the fault
				cancel()
			}
		}))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// repeat calls f ten times a second at most, until stop is called or the test ends.
func repeat(t *testing.T, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		pause := time.NewTicker(100 * time.Millisecond)
		defer pause.Stop()
		for ctx.Err() == nil {
			f(ctx)
			select {
			case <-ctx.Done():
			case <-pause.C:
			}
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return stop
}

// watch keeps a watch open.
func watch(t *testing.T, s *harness.Sluice, path string) {
	t.Helper()
	resp := s.Raw("admin").MustOpen(t, harness.Request{Path: path})
	go func() { _, _ = io.Copy(io.Discard, resp.Body) }()
}

func signal(t *testing.T, s *harness.Sluice, sig syscall.Signal) {
	if err := syscall.Kill(s.PID(), sig); err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
