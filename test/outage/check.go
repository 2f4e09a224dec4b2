package outage

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sluice/test/harness"
)

const (
	namespace = "default"
	path      = "/api/v1/namespaces/" + namespace + "/configmaps"
	// watches is how many are open while the apiserver is away.
	watches = 20
	// patience is much longer than an answer takes that waits for nobody, and shorter than one that waits for the apiserver.
	patience = 20 * time.Second
)

// Outage is an apiserver that goes away from a Sluice.
type Outage struct {
	Plane  *harness.ControlPlane
	Sluice *harness.Sluice
	// Lasts is the time from the verdict of Sluice until the apiserver comes back, at least. The promises are checked all
	// the time, and once at least.
	Lasts time.Duration
	// Meanwhile, if not nil, is called once a second while the apiserver is away.
	Meanwhile func()
}

// TestPromises takes the apiserver away by a fault. After the verdict of Sluice, writes and reads that must be recent are answered
// 503 with Retry-After before patience ends, reads of any version come from the cache and tell their age, and watches stay open;
// after the end all is as before.
func (o *Outage) TestPromises(t *testing.T, fault Fault) {
	if fault.Lacking != "" {
		t.Skip(fault.Lacking)
	}
	o.Sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	o.awaitRules(t)
	harness.Eventually(t, "the cache serves", func() error { return o.fromCache(t.Context(), "?resourceVersion=0", "") })
	open := o.openWatches(t)

	began := time.Now()
	end := sync.OnceFunc(fault.Begin(t, o.Plane))
	defer end()
	harness.Eventually(t, "Sluice knows that the apiserver is away", func() error {
		if ready, err := o.Sluice.AdminGet("/readyz?verbose"); err == nil && !strings.Contains(ready, "[-]upstream") {
			return fmt.Errorf("readyz: %s", ready)
		}
		return nil
	})
	t.Logf("%s: verdict after %v", fault.Name, time.Since(began))
	o.away(t)
	for _, w := range open {
		if hasEnded(w) {
			t.Error("a watch has ended while the apiserver was away")
		}
	}

	end()
	name := "back-" + strings.ToLower(fault.Name)
	harness.Eventually(t, "a write succeeds again", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := o.Sluice.Raw("admin").Write(ctx, http.MethodPost, path, fmt.Sprintf(`{"metadata":{"generateName":%q}}`, name))
		return err
	})
	harness.Eventually(t, "Sluice is ready again", func() error { _, err := o.Sluice.AdminGet("/readyz"); return err })
	harness.Eventually(t, "the cache serves recent reads again", func() error { return o.fromCache(t.Context(), "", "") })
	open = slices.DeleteFunc(open, func(w watch.Interface) bool { return sees(w, name) })
	if len(open) > 0 && !fault.restarts {
		t.Errorf("%d watches ended after the apiserver came back", len(open))
	}
	if len(open) > 0 { // their clients list and watch again
		o.openWatches(t)
	}
}

// away checks the promises once a second.
func (o *Outage) away(t *testing.T) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	until := time.Now().Add(o.Lasts)
	for round := 0; !t.Failed() && (round == 0 || time.Now().Before(until)); round++ {
		for name, q := range map[string]harness.Request{
			"a write":             {Method: http.MethodPost, Path: path, Body: []byte(`{"metadata":{"name":"a"}}`), Header: http.Header{"Content-Type": {"application/json"}}},
			"a most recent list":  {Path: path},
			"a most recent get":   {Path: path + "/kube-root-ca.crt"},
			"a most recent watch": {Path: path + "?watch=1"},
			"an unknown token":    {Path: path + "?resourceVersion=0", Header: http.Header{"Authorization": {"Bearer unknown"}}},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), patience) // a request that waits for the apiserver may never end
			got, err := o.Sluice.Raw("admin").Do(ctx, q)
			cancel()
			if err != nil || got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" {
				t.Errorf("%s, %d rounds after the verdict: %+v, %v", name, round, got, err)
			}
		}
		if err := o.fromCache(t.Context(), "?resourceVersion=0", "s ago"); err != nil {
			t.Errorf("a list of any version, %d rounds after the verdict: %v", round, err)
		}
		if o.Meanwhile != nil {
			o.Meanwhile()
		}
		<-tick.C
	}
}

// fromCache makes a list, which the cache must serve with a warning that has a text.
func (o *Outage) fromCache(ctx context.Context, query, warning string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	got, err := o.Sluice.Raw("admin").Get(ctx, path+query, "application/json")
	switch {
	case err != nil:
		return err
	case got.Status != http.StatusOK || !strings.HasPrefix(got.Header.Get("Sluice-Source"), "cache"):
		return fmt.Errorf("%d from %q: %s", got.Status, got.Header.Get("Sluice-Source"), got.Body)
	case !strings.Contains(got.Header.Get("Warning"), warning):
		return fmt.Errorf("no warning tells the age: %q", got.Header.Get("Warning"))
	}
	return nil
}

// hasEnded reports whether a watch has ended, or has received the error that ends it. What it has shown before is lost.
func hasEnded(w watch.Interface) bool {
	for {
		select {
		case e, open := <-w.ResultChan():
			if !open || e.Type == watch.Error {
				return true
			}
		default:
			return false
		}
	}
}

// sees reports whether a watch shows an object whose name begins so, before it ends.
func sees(w watch.Interface, name string) bool {
	for e := range w.ResultChan() {
		if m, ok := e.Object.(*corev1.ConfigMap); ok && strings.HasPrefix(m.Name, name) {
			return true
		}
	}
	return false
}

// openWatches opens watches that the cache serves.
func (o *Outage) openWatches(t *testing.T) (open []watch.Interface) {
	t.Helper()
	client := o.Sluice.Client("admin").CoreV1().ConfigMaps(namespace)
	list, err := client.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	for range watches {
		w, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
		open = append(open, w)
	}
	return open
}

// awaitRules waits until no change of access rules counts any more: what Sluice has read of RBAC at its start is a change, and
// one that lasts counts again within ten seconds.
func (o *Outage) awaitRules(t *testing.T) {
	t.Helper()
	counted, since := 0.0, time.Now()
	harness.Eventually(t, "access rules no longer change", func() error {
		m, err := o.Sluice.Metrics()
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
