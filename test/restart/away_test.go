package restart

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// A frozen apiserver accepts connections and answers nothing. Each request would wait for it until its client gives up.
func TestFrozenApiserverIsAwayAndWatchesOutliveIt(t *testing.T) {
	plane := harness.Start(t)
	sluice := plane.StartSluice(t, harness.SluiceOptions{Flags: []string{"--log-level=warn"}})
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	ctx, client := t.Context(), sluice.Client("admin").CoreV1().ConfigMaps("default")
	list, err := client.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	watch, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()

	const path = "/api/v1/namespaces/default/configmaps"
	anyVersion := func() error {
		got, err := sluice.Raw("admin").Get(ctx, path+"?resourceVersion=0", "application/json")
		if err == nil && (got.Status != http.StatusOK || !strings.HasPrefix(got.Header.Get("Sluice-Source"), "cache")) {
			err = fmt.Errorf("%d from %q: %s", got.Status, got.Header.Get("Sluice-Source"), got.Body)
		}
		return err
	}
	awaitRules(t, sluice)
	harness.Eventually(t, "the cache serves", anyVersion)
	if err := plane.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	frozen := true
	thaw := func() {
		if frozen {
			frozen = false
			if err := plane.Signal(syscall.SIGCONT); err != nil {
				t.Error(err)
			}
		}
	}
	defer thaw()
	harness.Eventually(t, "Sluice knows that the apiserver is away", func() error {
		if ready, err := sluice.AdminGet("/readyz?verbose"); err == nil && !strings.Contains(ready, "[-]upstream") {
			return fmt.Errorf("readyz: %s", ready)
		}
		return nil
	})

	waits, cancel := context.WithTimeout(ctx, time.Minute) // or a request that waits for the apiserver never ends
	defer cancel()
	for name, q := range map[string]harness.Request{
		"a write":             {Method: http.MethodPost, Path: path, Body: []byte(`{"metadata":{"name":"a"}}`), Header: http.Header{"Content-Type": {"application/json"}}},
		"a most recent list":  {Path: path},
		"a most recent get":   {Path: path + "/kube-root-ca.crt"},
		"a most recent watch": {Path: path + "?watch=1"},
		"an unknown token":    {Path: path + "?resourceVersion=0", Header: http.Header{"Authorization": {"Bearer unknown"}}},
	} {
		got, err := sluice.Raw("admin").Do(waits, q)
		if err != nil || got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if err := anyVersion(); err != nil {
		t.Errorf("a list of any version: %v", err)
	}

	thaw()
	harness.Eventually(t, "a write succeeds again", func() error {
		_, err := client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "thawed-"}}, metav1.CreateOptions{})
		return err
	})
	for e := range watch.ResultChan() {
		if object, ok := e.Object.(*corev1.ConfigMap); ok && strings.HasPrefix(object.Name, "thawed-") {
			return
		}
	}
	t.Error("the watch has ended")
}

// awaitRules waits until no change of access rules counts any more: what Sluice has read of RBAC at its start is a change, and
// one that lasts counts again within ten seconds.
func awaitRules(t *testing.T, s *harness.Sluice) {
	t.Helper()
	counted, since := 0.0, time.Now()
	harness.Eventually(t, "access rules no longer change", func() error {
		m, err := s.Metrics()
		if err != nil {
			return err
		}
		if n := m.Sum("sluice_access_rule_changes_total"); n == 0 || n != counted {
			counted, since = n, time.Now()
		}
		if quiet := time.Since(since); quiet < 11*time.Second {
			return fmt.Errorf("%v changes, the last %v ago", counted, quiet)
		}
		return nil
	})
}
