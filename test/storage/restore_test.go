package storage

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// etcd is restored from a backup, without raising its revisions, and passes the version of the store before
// Sluice's watch is resumed. The apiserver then goes on as if nothing had happened.
func TestStoreFollowsAnEtcdThatWasRestored(t *testing.T) {
	plane := harness.Start(t)
	sluice := plane.StartSluice(t, harness.SluiceOptions{Binary: "sluice"})
	maps := plane.Client("admin").CoreV1().ConfigMaps("default")
	create := func(name string) (version int) {
		t.Helper()
		m, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(m.ResourceVersion, &version); err != nil {
			t.Fatal(err)
		}
		return version
	}
	has := func(name string, want bool) error {
		_, err := sluice.Client("admin").CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{ResourceVersion: "0"})
		if got := err == nil; got != want {
			return fmt.Errorf("has %s: %v (%w)", name, got, errors.Join(err))
		}
		return nil
	}
	create("first")
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	restore := plane.BackUp(t)

	// The start of an apiserver writes some objects: it must not pass the store's version by itself.
	for i := range 500 {
		create(fmt.Sprint("lost-", i))
	}
	reached := create("lost")
	harness.Eventually(t, "the store follows", func() error { return has("lost", true) })

	signal(t, sluice, syscall.SIGSTOP)
	restore()
	for i := 0; create(fmt.Sprint("new-", i)) <= reached; i++ {
	}
	signal(t, sluice, syscall.SIGCONT)
	harness.Eventually(t, "the store follows the restored etcd", func() error {
		return errors.Join(has("first", true), has("new-0", true), has("lost", false))
	})
}

func signal(t *testing.T, s *harness.Sluice, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(s.PID(), sig); err != nil {
		t.Fatal(err)
	}
}
