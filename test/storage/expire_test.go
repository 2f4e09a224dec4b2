package storage

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sluice/test/harness"
)

// deletionLimit bounds how long the deletion takes to reach the cache.
const deletionLimit = 3 * time.Minute

// The end of a lease in etcd deletes many objects at one resource version. A client that lists between two
// of the deletions, and watches from the version of its list, receives the others.
func TestDeletionsAtOneVersionAreNeverMissed(t *testing.T) {
	const objects = 300
	ns := server.Namespace(t)
	maps := gateway.Client("admin").CoreV1().ConfigMaps(ns)
	for i := range objects {
		name := fmt.Sprintf("m%03d", i)
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}}
		put(t, "/registry/configmaps/"+ns+"/"+name, stored{name, corev1.SchemeGroupVersion.WithKind("ConfigMap"), m})
	}
	gateway.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	list := func(version string) *corev1.ConfigMapList {
		t.Helper()
		l, err := maps.List(t.Context(), metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if n := len(list("").Items); n != objects {
		t.Fatalf("%d objects", n)
	}
	deleted := make(chan error, 1)
	go func() {
		deleted <- server.DeleteStoredRange(t.Context(), "/registry/configmaps/"+ns+"/", "/registry/configmaps/"+ns+"0")
	}()
	lists := map[string]*corev1.ConfigMapList{}     // the first at each version and length
	for limit := time.Now().Add(deletionLimit); ; { // without a pause, to see the states between
		l := list("0")
		lists[l.ResourceVersion+"/"+strconv.Itoa(len(l.Items))] = l
		if len(l.Items) == 0 {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("%d objects are left", len(l.Items))
		}
	}
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	if n := len(list("").Items); n != 0 {
		t.Errorf("%d objects in a list after the deletion", n)
	}
	for _, l := range lists {
		t.Logf("%d objects at version %s", len(l.Items), l.ResourceVersion)
		left := map[string]bool{}
		for _, m := range l.Items {
			left[m.Name] = true
		}
		w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: l.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, "the watch delivers the deletions", func() error {
			for len(left) > 0 {
				select {
				case e, open := <-w.ResultChan():
					if !open {
						t.Fatalf("the watch has ended, %d are left", len(left))
					}
					if m, ok := e.Object.(*corev1.ConfigMap); ok && e.Type == watch.Deleted {
						delete(left, m.Name)
					}
				default:
					return fmt.Errorf("%d are left", len(left))
				}
			}
			return nil
		})
		w.Stop()
	}
}
